"""`load_inline` without a wrapper: what is exported, under which name, with which parameters."""

import sys

import numpy as np
import pytest
import tvm_ffi
from inline_source import SAXPY, load
from stub.cuda_array import cuda_copy

import tvmffi_cubin as tc
from tvmffi_cubin.inline import build


def test_the_quick_start(driver_stub):
    mod = tc.load_inline(
        "vec",
        cuda_sources=SAXPY,
        functions={"saxpy": tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"})},
        arch="sm_90",
    )
    x = cuda_copy(driver_stub, np.arange(1000, dtype=np.float32))
    y = cuda_copy(driver_stub, np.ones(1000, np.float32))
    mod.saxpy(2.0, x, y)
    (launch,) = driver_stub.launches()
    assert (launch.grid, launch.block) == ((4, 1, 1), (256, 1, 1))
    assert launch.values("fPPi") == (2.0, x.data_ptr, y.data_ptr, 1000)


def test_without_functions_every_kernel_is_exported():
    mod = load(SAXPY + 'extern "C" __global__ void other() {}\n__global__ void mangled(int n) {}')
    assert mod.functions == ("saxpy", "other", "mangled")
    assert mod.mangled.signature == "mangled(int n)"


def test_a_host_function_beside_kernels_is_exported_where_it_is_named():
    source = SAXPY + "int one() { return 1; }"
    assert load(source, ["saxpy"]).functions == ("saxpy",)
    mod = load(source, ["saxpy", "one"])
    assert (mod.functions, mod.one()) == (("saxpy",), 1)


@pytest.mark.parametrize(
    ("function", "args", "kernel", "values"),
    [
        ("fill", (1.5,), "_Z4fillIfEvPT_S0_", (1.5,)),
        ("add", (), "_ZN2ns3addEPfi", (7,)),
        ("mul", (), "_ZN2ns5inner3mulEPf", ()),
        ("over_float", (), "_Z4overPf", ()),
        ("made", (3,), "made", (3,)),
    ],
)
def test_a_kernel_is_found_by_the_name_that_the_source_has(
    function, args, kernel, values, ops, driver_stub, x
):
    ops[function](x, *args)
    (launch,) = driver_stub.launches()
    assert launch.kernel == kernel
    formats = "P" + "".join("f" if isinstance(value, float) else "i" for value in values)
    assert launch.values(formats) == (x.data_ptr, *values)


def test_a_source_of_which_nothing_would_be_exported_is_refused():
    for source in ("// nothing", "void k(float* x) { x[0] = 1; }", "#include <cuda_fp16.h>"):
        with pytest.raises(ValueError, match="empty: nothing .* mark a kernel with __gl"):
            tc.load_inline("empty", source, arch="sm_90")
    assert tc.load_inline("empty", "// nothing", functions=[], arch="sm_90").functions == ()


def test_the_default_arch_is_the_current_device_s(driver_stub):
    def arch() -> str:
        return tc.load_inline("default", SAXPY).cubins["kernels"].arch

    assert arch() == "sm_90a"
    with driver_stub.current_device(2):
        assert arch() == "sm_80"
    driver_stub.set_devices()
    with pytest.raises(tc.ToolchainError, match='such as arch="sm_90a"'):
        arch()


def test_a_tvm_ffi_that_is_too_old_says_what_is_needed(ops, monkeypatch):
    monkeypatch.setattr(tvm_ffi, "__version__", "0.1.9")
    monkeypatch.setattr(tvm_ffi, "__version_tuple__", (0, 1, 9, "post1"))
    with pytest.raises(tc.ToolchainError, match=r"tvm-ffi 0\.1\.9 is too old; run: pip install"):
        tc.load_module(ops.path)


def test_a_preamble_of_its_own_reaches_the_kernels_and_the_wrapper():
    preamble = "#define FACTOR 3\nstruct Pair { int a, b; };\n"
    kernel = 'extern "C" __global__ void k(Pair* p) { p->a = FACTOR; }'
    mod = tc.load_inline("preamble", [preamble, kernel], arch="sm_90")
    assert mod.functions == ("k",)
    host = "int factor() { return FACTOR + (int)sizeof(Pair); }"
    mod = tc.load_inline("preamble", [preamble, kernel, host], functions="factor", arch="sm_90")
    assert mod.factor() == 11


def test_a_build_that_takes_long_is_said_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(build, "PATIENCE", 0)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    for is_terminal, said in ((False, ""), (True, "tvmffi_cubin: building patience\n")):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_terminal=is_terminal: is_terminal)
        source = f"__global__ void k(int* x) {{ x[0] = {is_terminal:d}; }}"
        for _ in range(2):  # the second time it is in the cache
            tc.load_inline("patience", source, arch="sm_90")
        assert capsys.readouterr().err == said
