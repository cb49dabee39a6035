"""Modules for several architectures: what is built, and which device takes which image."""

import functools

import pytest
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub
from wrapper_sources import DRIVER, KERNELS

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import libraries, program
from tvmffi_cubin.errors import LaunchError, ToolchainError

INVALID_IMAGE = 200

SOURCE = r"""
extern "C" __global__ void add(float* x, int n) { x[0] = n; }
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void newer(float* x) { x[0] = 1; }
#else
extern "C" __global__ void older(float* x) { x[0] = 2; }
#endif
"""
THREE = ("sm_80", "sm_90a", "sm_100a")
EVERYTHING = (*THREE, "compute_80")


def load(arch, source: str = SOURCE, name: str = "several", **options) -> tc.Module:
    # One architecture alone has not both of these.
    names = ("add", "newer", "older") if arch == EVERYTHING else ("add",)
    options.setdefault("functions", dict.fromkeys(names, tc.Launch(grid=1, block=32)))
    return tc.load_inline(name, source, arch=arch, **options)


pytestmark = pytest.mark.skipif(nvrtc.version() < (12, 8), reason="sm_100a needs NVRTC 12.8")


def launched(driver_stub) -> list[tuple[int, str | None]]:
    return [(launch.device, launch.image) for launch in driver_stub.launches()]


@pytest.fixture
def driver_stub(driver_stub: DriverStub) -> DriverStub:
    """The stand-in as a driver as new as NVRTC, which older ones compile no PTX of."""
    major, minor = nvrtc.version()
    driver_stub.set_driver_version(max(12090, 1000 * major + 10 * minor))
    return driver_stub


def test_each_device_takes_its_own_image(driver_stub):
    mod = load(EVERYTHING)
    driver_stub.set_devices(90, 80, 86, 100, 89, 120, 103)
    for device in range(7):
        mod.add(cuda_array(driver_stub, 4, device=device), device)
    assert launched(driver_stub) == [
        *((0, "sm_90a"), (1, "sm_80"), (2, "sm_80"), (3, "sm_100a"), (4, "sm_80")),
        *((5, "compute_80"), (6, "compute_80")),
    ]
    assert [launch.values("Pi")[1] for launch in driver_stub.launches()] == [*range(7)]


def test_where_none_fits_the_error_lists_what_is_there(driver_stub):
    mod = load(["sm_80", "sm_100a"], name="none_fits")
    told = "add: the image kernels is for sm_80, sm_100a, but device 0 is sm_90: compile it for "
    with pytest.raises(LaunchError, match=told):
        mod.add(cuda_array(driver_stub, 4), 0)


def test_a_kernel_that_its_device_lacks_says_which_have_it(driver_stub):
    mod = load(EVERYTHING)
    mod.newer(cuda_array(driver_stub, 4))
    told = "older: kernel older .* The image has it only for sm_80, compute_80, by a cond"
    with pytest.raises(LaunchError, match=f"(?s){told}"):
        mod.older(cuda_array(driver_stub, 4))


def test_ptx_that_is_too_new_for_the_driver_names_both_versions(driver_stub):
    mod = load("compute_90")
    made_by = ".".join(map(str, nvrtc.version()))
    driver_stub.set_driver_version(12040)
    told = f"the image kernels was built with CUDA {made_by}, but the driver supports CUDA 12.4: "
    with pytest.raises(LaunchError, match=told):
        mod.add(cuda_array(driver_stub, 4), 0)


@pytest.mark.parametrize("function", ["cuLibraryLoadData", "cuLibraryGetKernel"])
def test_an_image_of_a_newer_cuda_names_the_remedy(function, driver_stub, monkeypatch):
    monkeypatch.setattr(program.Nvrtc, "version", lambda self: (14, 1))
    mod = load("sm_90", name="newer_cuda")
    mod.unload()
    driver_stub.fail(function, INVALID_IMAGE, nth=0)
    driver_stub.set_driver_version(13000)
    told = "built with CUDA 14.1, but the driver supports CUDA 13.0: update the driver, or "
    with pytest.raises(LaunchError, match=told):
        mod.add(cuda_array(driver_stub, 4), 0)


def test_a_wrapper_launches_what_fits(driver_stub):
    image = tc.nvrtc.compile(KERNELS, arch=EVERYTHING)
    mod = tc.load_inline("wrapped", DRIVER, embed_cubin={"kernels": image})
    x = cuda_array(driver_stub, 4)
    mod.add_one(x, x)
    assert launched(driver_stub) == [(0, "sm_90a")]
    other = tc.nvrtc.compile(KERNELS, arch=["sm_75", "sm_100a"])
    mod = tc.load_inline("wrapped", DRIVER, embed_cubin={"kernels": other})
    with pytest.raises(LaunchError, match="the image is for another .*, but device 0 is sm_90: "):
        mod.add_one(x, x)


def test_three_architectures_are_built_without_a_gpu(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", "/nonexistent/libcuda.so.1")
    image = load(THREE).cubins["kernels"]
    assert (image.kind, image.arch) == ("fatbin", "sm_80, sm_90a, sm_100a")
    assert image.archs == THREE
    assert image.cuda_version == ".".join(map(str, nvrtc.version()))
    found = [{kernel.name for kernel in member.kernels} for member in image.members]
    assert found == [{"add", "older"}, {"add", "newer"}, {"add", "newer"}]


def test_without_nvfatbin_the_package_is_named_and_what_was_built_with_it_is_found(monkeypatch):
    """It does not come with torch, as the other libraries do."""
    made = load(["sm_80", "sm_86"]).path
    cuda = libraries.find_cuda()
    parts = {part: path for part, path in cuda.parts.items() if part != "nvfatbin"}
    found = functools.cache(lambda *_: cuda._replace(parts=parts))
    monkeypatch.setattr(libraries, "_find", found)
    with pytest.raises(ToolchainError, match="pip install nvidia-nvfatbin"):
        load(["sm_80", "sm_89"])
    assert load("sm_89").functions
    assert load(["sm_80", "sm_86"]).path == made


def test_a_kernel_that_takes_something_else_for_another_architecture_is_refused():
    source = """
    #if __CUDA_ARCH__ >= 900
    using T = double;
    #else
    using T = float;
    #endif
    extern "C" __global__ void k(float* x, T t) { x[0] = t; }
    """
    with pytest.raises(ValueError, match="'k' has different parameters .* for sm_90"):
        load(["sm_80", "sm_90"], source, functions=None)


def test_code_that_only_one_architecture_compiles_names_the_other():
    # PTX is assembled, too, before it is embedded: on a newer device it would be too late.
    source = """
    extern "C" __global__ void k(float* x) { asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); }
    """
    message = r"does not compile for compute_90(.|\n)*setmaxnreg(.|\n)*with arch=.sm_90a"
    with pytest.raises(tc.CompileError, match=message):
        load(["sm_90a", "compute_90"], source, functions=None)
