"""Libraries of device code that are linked into a module's image."""

from __future__ import annotations

from pathlib import Path

import pytest
from several_units import BOTH, CALLER, LIBRARY, library, load, refusal

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import libraries


@BOTH
@pytest.mark.parametrize("kind", ["relocatable", "ltoir", "ptx"])
def test_a_library_is_linked_into_a_single_source(kind, lto):
    source = LIBRARY + '\nextern "C" __global__ void inside(float* x) {}'
    made = library(kind, source, arch="compute_90" if kind == "ptx" else "sm_90a")
    mod = load(CALLER, device_libraries=[made], lto=lto, name=f"with_{kind}")
    assert mod["call"].signature == "call(float* x)"


def test_libraries_may_be_bytes_and_files(tmp_path: Path):
    path = tmp_path / "helper.cubin"
    path.write_bytes(library().image)
    for given in (path, str(path), library().image):
        assert load(CALLER, device_libraries=[given], name="given").functions == ("call",)


def test_the_content_of_a_library_is_part_of_the_key():
    one, other = (library(source=LIBRARY.replace("1", x)) for x in ("1", "2"))

    def build(made: tc.Cubin, **more) -> str:
        return tc.build_inline("keyed", CALLER, arch="sm_90a", device_libraries=[made], **more)

    assert build(one) == build(one)
    assert len({build(one), build(other), build(one, lto=True)}) == 3


def test_kernels_may_launch_kernels_with_the_device_runtime():
    cudart = libraries.find_cuda().require("cudart")
    if not cudart.with_name("libcudadevrt.a").exists():
        pytest.skip("the CUDA runtime's wheel has no libcudadevrt.a")
    source = """
    __global__ void child(int* x) { x[0] = 1; }
    extern "C" __global__ void parent(int* x) { child<<<1, 1>>>(x); }"""
    mod = load([source], device_libraries=["cudadevrt"], name="nested")
    assert mod.functions == ("child", "parent")


def test_a_library_s_own_kernels_are_exported_where_they_are_named():
    source = LIBRARY + '\nextern "C" __global__ void inside(float* x) {}'
    made = library(source=source)
    assert load(CALLER, device_libraries=[made], name="own").functions == ("call",)
    launch = tc.Launch(kernel="inside", params="float* x")
    mod = load(CALLER, {"f": launch}, device_libraries=[made], name="own")
    assert mod["f"].signature == "f(float* x)"


@BOTH
def test_a_symbol_that_a_library_lacks_is_named(lto):
    other = library(source=LIBRARY.replace("float x", "int x"))
    message = refusal(CALLER, device_libraries=[other], lto=lto)
    assert "Undefined reference to 'helper(float)' in '" in message


def test_a_library_for_another_architecture_is_refused_with_both_names():
    message = refusal(CALLER, error=ValueError, device_libraries=[library(arch="sm_80")])
    assert "device_libraries[0] is for sm_80 and cannot be linked into an image for sm_9" in message


def test_what_is_no_library_is_named():
    linked = nvrtc.compile("__global__ void k() {}", arch="sm_90a")
    for given, problem in (
        (b"nothing", "device_libraries[1]: it is no image: it begins with"),
        (linked, "device_libraries[1]: it is a cubin, linked already"),
    ):
        message = refusal(CALLER, error=ValueError, device_libraries=[library(), given])
        assert problem in message
    with pytest.raises(TypeError, match=r"device_libraries\[0\] is bytes, a Cubin or a path"):
        load(CALLER, device_libraries=[3])
    with pytest.raises(TypeError, match="device_libraries is a sequence"):
        load(CALLER, device_libraries="libhelper.a")
    with pytest.raises(FileNotFoundError, match=r"device_libraries\[0\]: No such file"):
        load(CALLER, device_libraries=["/nowhere/libhelper.a"])
    with pytest.raises(ValueError, match="there are none: link them with nvjitlink.link"):
        tc.load_inline("m", cpp_sources="int one() { return 1; }", device_libraries=[library()])
    with pytest.raises(TypeError, match="lto is True or False, got 'yes'"):
        load(lto="yes")
