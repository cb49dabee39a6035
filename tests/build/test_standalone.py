"""Shared objects and objects by themselves: what they need and say; links of others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import tvm_ffi
from file_kit import ADD, EXPORT, SCALE, compiled, linked, write
from inline_source import SAXPY
from processes import in_new_process, run
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub
from wrapper_sources import DRIVER, KERNELS

import tvmffi_cubin as tc

FUNCTIONS = {"saxpy": tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"})}

# A process that has tvm-ffi and numpy, and no compiler, no kernel language and none of ours.
LOADER = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        blocked = ("tvmffi_cubin", "triton", "nvidia", "cuda", "cupy", "ninja")
        if name.split(".")[0] in blocked:
            raise ImportError(f"blocked: {name}")
sys.meta_path.insert(0, Blocker())
import tvm_ffi
mod = tvm_ffi.load_module(sys.argv[1])
try:
    mod.saxpy(2.0, 1, 2)
except TypeError as error:
    print(error)
print(mod._tvmffi_cubin_manifest()[:9])
mod._tvmffi_cubin_preload(0)
"""


@pytest.fixture(scope="module")
def launcher_so(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("launcher") / "libsaxpy.so"
    made = tc.build_inline("saxpy", SAXPY, functions=FUNCTIONS, arch="sm_90", output=path)
    assert made == str(path)
    return path


@pytest.fixture(scope="module")
def wrapper_so(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wrapper") / "libwrapper.so"
    tc.build_inline("wrapper", [KERNELS, DRIVER], arch="sm_90", output=path)
    return path


@pytest.mark.parametrize("which", ["launcher_so", "wrapper_so"])
def test_nothing_of_this_machine_is_in_it(which: str, request: pytest.FixtureRequest):
    path = request.getfixturevalue(which)
    dynamic = run("readelf", "-dW", path)
    assert "RUNPATH" not in dynamic
    assert "RPATH" not in dynamic
    data = path.read_bytes()
    for place in (os.environ["TVMFFI_CUBIN_CACHE_DIR"], str(path.parent)):
        assert place.encode() not in data


def test_tvm_ffi_alone_loads_it_and_checks_arguments(launcher_so: Path, driver_stub: DriverStub):
    lines = in_new_process(LOADER, launcher_so, cwd="/").splitlines()
    assert "saxpy" in lines[0]
    assert lines[1] == '{"schema"'


def test_stripping_takes_neither_manifest_nor_images(launcher_so: Path, tmp_path: Path):
    stripped = tmp_path / "stripped.so"
    run("strip", "-o", stripped, launcher_so)
    mod = tc.load_module(stripped)
    assert mod.functions == ("saxpy",)
    assert mod.cubins["kernels"].image == tc.load_module(launcher_so).cubins["kernels"].image


def test_a_file_that_was_cut_is_an_error(launcher_so: Path, tmp_path: Path):
    cut = tmp_path / "cut.so"
    for length in (4000, 9000, 40000):
        cut.write_bytes(launcher_so.read_bytes()[:length])
        with pytest.raises(tc.BuildError, match=f"is truncated to {length} bytes"):
            tc.load_module(cut)


def test_an_image_of_the_same_size_is_not_taken_for_the_one_that_was_loaded(here):
    def build(value: int) -> str:
        source = f'extern "C" __global__ void k(int* x) {{ *x = {value}; }}'
        return tc.build_inline("k", source, functions=["k"], arch="sm_90", output="k.so")

    mod = tc.load_module(build(1))
    again = tc.load_module(build(1))
    size = len(again.cubins["kernels"].image)
    assert len(tc.inspect(build(2)).images[0].image) == size
    with pytest.raises(ValueError, match="changed after it was loaded"):
        mod.cubins  # noqa: B018


def test_modules_of_others_have_no_manifest(tmp_path: Path):
    source = tmp_path / "x.c"
    source.write_text("int __tvm_ffi_f(void* s, const void* a, int n, void* r) { return 0; }\n")
    run("cc", "-shared", "-fPIC", "-o", tmp_path / "x.so", source)
    mod = tc.load_module(tmp_path / "x.so")
    assert dict(mod.manifest) == {}
    assert dict(mod.cubins) == {}
    assert isinstance(mod, tvm_ffi.Module)


def test_an_object_goes_where_its_output_says(here):
    write("add.cc", ADD)
    write("more.c", "int more(void) { return 1; }\n")
    (here / "sub").mkdir()
    for output in ("ops.obj", "sub/ops.o", str(here / "absolute.o")):
        made = tc.build("add", sources=["add.cc", "more.c"], output=output)
        assert made == str(here / output)
        assert Path(made).read_bytes()[16:18] == b"\x01\x00"  # ET_REL
    assert tvm_ffi.load_module(linked(made)).add(1, 2) == 3
    # An object becomes a source of the next build.
    assert tc.load("again", sources=made).add(1, 2) == 3


def test_an_object_has_images_and_launchers_in_it(here, driver_stub):
    write("scale.cu", SCALE)
    made = tc.build("scale", sources="scale.cu", arch="sm_90", output="scale.o")
    mod = tc.load_module(linked(made))
    x = cuda_array(driver_stub, 8)
    mod.scale[2, 4](x, 3.0, 8)
    assert driver_stub.launches()[0].values("Pfi") == (x.data_ptr, 3.0, 8)


def test_objects_given_become_part_of_the_object(here):
    write("twice.c", "int twice(int x) { return 2 * x; }\n")
    text = 'extern "C" int twice(int);\nint four(int x) { return twice(twice(x)); }\n'
    write("four.cc", text + EXPORT.format("four"))
    sources = ["four.cc", compiled("cc", "twice.c")]
    made = tc.build("four", sources=sources, output="four.o")
    assert tvm_ffi.load_module(linked(made)).four(1) == 4
