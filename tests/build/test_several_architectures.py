"""Modules for several architectures: built without a GPU, what is wrong with them."""

from __future__ import annotations

import pytest
from several_architectures import SOURCE, THREE, load, needs_sm_100a

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import libraries, nvfatbin
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


def test_ptx_alone_is_text_and_needs_no_nvfatbin(monkeypatch):
    monkeypatch.setattr(nvfatbin, "library", None)
    image = load("compute_90").cubins["kernels"]
    assert (image.kind, image.archs) == ("ptx", ("compute_90",))
    assert {kernel.name for kernel in image.kernels} == {"add", "dynamic", "newer"}


def test_nvccs_gencode_means_the_same():
    flags = ["-gencode=arch=compute_80,code=[sm_80,compute_80]", "-gencode", "arch=compute_90a"]
    flags[-1] += ",code=sm_90a"
    image = load(None, extra_cuda_cflags=flags).cubins["kernels"]
    assert image.archs == ("sm_80", "sm_90a", "compute_80")


def test_without_nvfatbin_the_package_is_named_and_one_architecture_is_still_built(monkeypatch):
    cuda = libraries.find_cuda()
    parts = {part: path for part, path in cuda.parts.items() if part != "nvfatbin"}
    bare = cuda._replace(parts=parts)
    monkeypatch.setattr(libraries, "find_cuda", lambda: bare)
    with pytest.raises(ToolchainError, match=f"pip install {cuda.wheels['nvfatbin']}"):
        load(["sm_80", "sm_89"])
    assert load("sm_89").functions


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
    with pytest.raises(
        ValueError, match=r"'k' takes .*\[8, 4\] bytes for sm_80 .*\[8, 8\] for sm_90"
    ):
        load(["sm_80", "sm_90"], source, functions=None)


def test_code_that_only_one_architecture_compiles_names_the_other():
    # PTX is assembled, too, before it is embedded: on a newer device it would be too late.
    source = """
    extern "C" __global__ void k(float* x) { asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); }
    """
    message = r"does not compile for compute_90(.|\n)*setmaxnreg(.|\n)*for arch=.sm_90a"
    with pytest.raises(tc.CompileError, match=message):
        load(["sm_90a", "compute_90"], source, functions=None)
