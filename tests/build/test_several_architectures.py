"""Modules for several architectures: built without a GPU, what is wrong with them."""

from __future__ import annotations

import struct

import pytest
from several_architectures import (
    EVERYTHING,
    SOURCE,
    THREE,
    as_new_as_nvrtc,
    load,
    needs_sm_100a,
)
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import libraries
from tvmffi_cubin.errors import ToolchainError

pytestmark = needs_sm_100a

# What is made


def test_three_architectures_are_built_without_a_gpu(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", "/nonexistent/libcuda.so.1")
    image = load(THREE).cubins["kernels"]
    assert (image.kind, image.arch) == ("fatbin", "sm_80, sm_90a, sm_100a")
    assert image.archs == THREE
    assert image.cuda_version == ".".join(map(str, nvrtc.version()))
    assert [[k.name for k in sorted(m.kernels, key=str)] for m in image.members] == [
        ["add", "dynamic", "older"],
        ["add", "dynamic", "newer"],
        ["add", "dynamic", "newer"],
    ]


def test_the_order_of_architectures_and_repetitions_change_nothing(monkeypatch):
    made = {load(archs).path for archs in (THREE, THREE[::-1], [*THREE, "sm_80"])}
    assert len(made) == 1
    first, second = (nvrtc.compile(SOURCE, arch=archs) for archs in (THREE, THREE[::-1]))
    assert first == second
    assert load(["sm_90a"]).path == load("sm_90a").path
    assert load("sm_90a").cubins["kernels"].kind == "cubin"
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", "sm_90a,sm_80")
    assert load(None).path == load(["sm_80", "sm_90a"]).path != load("sm_90a").path


def test_without_nvfatbin_the_package_is_named_and_one_architecture_is_still_built(monkeypatch):
    cuda = libraries.find_cuda()
    parts = {part: path for part, path in cuda.parts.items() if part != "nvfatbin"}
    bare = cuda._replace(parts=parts)
    monkeypatch.setattr(libraries, "_find", lambda *_: bare)
    with pytest.raises(ToolchainError, match=f"pip install {cuda.wheels['nvfatbin']}"):
        load(["sm_80", "sm_89"])
    assert load("sm_89").functions


def test_without_nvfatbin_what_was_built_with_it_is_found(monkeypatch):
    """It does not come with torch, as the other libraries do."""
    made = [load(archs).path for archs in ("sm_86", ["sm_80", "sm_86"])]
    cuda = libraries.find_cuda()
    parts = {part: path for part, path in cuda.parts.items() if part != "nvfatbin"}
    bare = cuda._replace(parts=parts)
    monkeypatch.setattr(libraries, "_find", lambda *_: bare)
    assert [load(archs).path for archs in ("sm_86", ["sm_80", "sm_86"])] == made


# What is wrong with the source


def test_a_kernel_that_takes_something_else_for_another_architecture_is_refused():
    source = """
    #if __CUDA_ARCH__ >= 900
    using T = double;
    #else
    using T = float;
    #endif
    extern "C" __global__ void k(float* x, T t) { x[0] = t; }
    """
    with pytest.raises(ValueError, match="'k' takes other parameters for sm_90"):
        load(["sm_80", "sm_90"], source, functions=None)


def test_code_that_only_one_architecture_compiles_names_the_other():
    # PTX is assembled, too, before it is embedded: on a newer device it would be too late.
    source = """
    extern "C" __global__ void k(float* x) { asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); }
    """
    message = r"does not compile for compute_90(.|\n)*setmaxnreg(.|\n)*for arch=.sm_90a"
    with pytest.raises(tc.CompileError, match=message):
        load(["sm_90a", "compute_90"], source, functions=None)


# Fatbins and PTX that were made elsewhere


def embedded(image, **kernels: str) -> tc.Module:
    functions = {k: tc.Launch(grid=1, block=1, params=v) for k, v in kernels.items()}
    images = {"image": image}
    return tc.load_inline("embedded", embed_cubin=images, functions=functions, ptx="keep")


@pytest.mark.parametrize("arch", [THREE, "compute_80", EVERYTHING])
def test_kernels_of_a_given_image_are_launched_by_declared_parameters(arch, driver_stub):
    as_new_as_nvrtc(driver_stub)
    given = nvrtc.compile(SOURCE, arch=arch)
    mod = embedded(given.image, add="float* x, int n")
    assert mod.cubins["image"].archs == given.archs
    mod.add(cuda_array(driver_stub, 4), 9)
    assert struct.unpack("<i", driver_stub.launches()[0].params[1]) == (9,)
