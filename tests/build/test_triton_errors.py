"""What is wrong with a Triton function is said at once; the oldest Triton that is taken."""

import os
import sys
from pathlib import Path

import pytest
from processes import in_new_process
from triton_kit import triton, triton_cache

import tvmffi_cubin as tc

kernels = pytest.importorskip("triton_functions", reason="Triton is not installed")

__all__ = ["triton_cache"]

TYPES = "*fp32, *fp32, i32, i32"


@pytest.mark.parametrize(
    ("signature", "options", "error", "message"),
    [
        ("*fp32, *fp32", {}, TypeError, r"'stride' is missing; pass it as in signature=\{'stride'"),
        ("*fp32, *fp32, i32, i33", {}, ValueError, r"'n': unknown Triton type 'i33'; available: i"),
        (TYPES + ", i32", {}, TypeError, "'BLOCK' is missing; pass it as in constexprs="),
        (TYPES, {"num_warps": 3}, tc.CompileError, "num_warps must be a power of"),
        (TYPES, {"options": {"warps": 3}}, TypeError, "has no option 'warps'"),
        ("tensordesc<foo[16,32]>", {}, ValueError, "is not a tensor descriptor such as"),
    ],
)
def test_what_is_wrong_with_a_call_is_named(signature, options, error, message):
    with pytest.raises(error, match=message):
        tc.triton.compile(kernels.strided, signature, **{"arch": "sm_90", **options})


def test_triton_s_own_message_is_the_error_s():
    types = {"x": "*fp32", "out": "fp32", "stride": "i32", "n": "i32"}
    with pytest.raises(tc.CompileError, match="does not compile strided for sm_90") as caught:
        tc.triton.compile(kernels.strided, types, arch="sm_90")
    assert "tl.store(out + offsets" in caught.value.log
    assert "def strided" in caught.value.source


CONFIGS = [triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128}, num_warps=8)]


def autotuned(configs):
    return triton.autotune(configs, key=["n"])(kernels.add)


def test_an_autotuned_function_wants_one_of_its_configurations():
    signature = "*fp32, *fp32, *fp32, i32"
    with pytest.raises(ValueError, match="2 configurations require autotuning"):
        tc.triton.compile(autotuned(CONFIGS), signature, arch="sm_90")
    options = {"grid": "ceil_div(n, BLOCK)", "arch": "sm_90"}
    launch = tc.triton.compile(autotuned(CONFIGS), signature, config=CONFIGS[1], **options)
    assert (launch.grid, launch.block) == (("ceil_div(n, 128)",), (256,))
    heuristic = triton.heuristics({})(autotuned(CONFIGS[:1]))
    only = tc.triton.compile(heuristic, signature, arch="sm_90")
    assert (only.block, only.meta) == ((64,), {"BLOCK": 64})


def test_what_heuristics_compute_is_to_be_given():
    wrapped = triton.heuristics({"BLOCK": lambda args: 64})(kernels.add)
    signature = "*fp32, *fp32, *fp32, i32"
    with pytest.raises(TypeError, match="add: 'BLOCK' is computed by a heuristic at each launch"):
        tc.triton.compile(wrapped, signature, arch="sm_90")
    launch = tc.triton.compile(wrapped, signature, constexprs={"BLOCK": 64}, arch="sm_90")
    assert launch.params == "float* x, float* y, float* out, int32_t n"
    wrapped = triton.heuristics({"num_warps": lambda args: 8})(kernels.add)
    with pytest.raises(TypeError, match="'num_warps' is computed by a heuristic"):
        tc.triton.compile(wrapped, signature + ", 64", arch="sm_90")


def test_a_module_of_triton_functions_is_loaded_where_triton_is_missing(driver_stub, tmp_path):
    launch = tc.triton.compile(
        kernels.add, "*fp32, *fp32, *fp32, i32, 64", grid="ceil_div(n, BLOCK)", arch="sm_90"
    )
    so = tc.build_inline("triton_absent", functions={"add": launch}, build_directory=tmp_path)
    code = f"""
import sys
sys.modules["triton"] = None
sys.path[:0] = {sys.path!r}
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub
import tvmffi_cubin as tc
stub = DriverStub({str(driver_stub.path)!r})
x = cuda_array(stub, 100)
tc.load_module({str(so)!r}).add(x, x, x, 100)
(launch,) = stub.launches()
print(launch.kernel, launch.grid, launch.values("PPPiPP")[3:])
try:
    tc.triton.compile(None)
except tc.ToolchainError as error:
    print(error)
"""
    launched, error = in_new_process(code).splitlines()
    assert launched == "add (2, 1, 1) (100, 0, 0)"
    assert error.startswith("Triton is not installed")
    assert error.endswith("run: pip install triton")


# Where `make test` puts it.
OLDEST = Path(sys.prefix) / "triton-3.6.0"
NAMES = ("test_triton_launches.py", "test_triton_arguments.py")
FILES = [Path(__file__).with_name(name) for name in NAMES]


@pytest.mark.skipif(
    not OLDEST.is_dir(),
    reason=f"run: pip install --no-deps --target {OLDEST} triton==3.6.0",
)
def test_the_same_holds_with_the_oldest_triton(tmp_path):
    path = os.pathsep.join([str(OLDEST), *filter(None, [os.environ.get("PYTHONPATH")])])
    code = (
        "import sys, pytest, triton\nprint(triton.__version__)\nsys.exit(pytest.main(sys.argv[1:]))"
    )
    # In the usual place pytest would take from other users what tests beside this one let them see.
    options = ["-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'base'}"]
    # It is no worker of the run that this is one of.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    said = in_new_process(code, *options, *FILES, env={**kept, "PYTHONPATH": path})
    assert said.startswith("3.6.0\n")
    assert " passed" in said
    assert "skipped" not in said
