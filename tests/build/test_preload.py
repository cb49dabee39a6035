"""Preloading: images and kernels on a device, and nothing else."""

import threading

import pytest
import tvm_ffi
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

SOURCE = """
extern "C" __global__ void one(float* x) { extern __shared__ float s[]; x[0] = s[0]; }
extern "C" __global__ void two(float* x) { x[0] = 2; }
extern "C" __global__ void unused(float* x) { x[0] = 3; }
"""
FUNCTIONS = {
    "f": [
        tc.Launch(kernel="one", grid=1, block=1, dynamic_smem_bytes=100_000),
        tc.Launch(kernel="two", grid=1, block=1),
    ]
}


@pytest.fixture
def mod(driver_stub):
    """A module of which nothing is loaded."""
    mod = tc.load_inline("preloaded", SOURCE, functions=FUNCTIONS, arch="sm_90")
    mod.unload()
    return mod


def loaded(driver_stub):
    # To set a kernel's attribute loads it.
    calls = driver_stub.calls("cuKernelSetAttribute")
    found = [(x.args["name"], x.args["device"]) for x in calls if x.result == 0]
    return [*dict.fromkeys(found)]


class Device:
    """A device as torch has them."""

    def __init__(self, index, kind="cuda"):
        self.index, self.type = index, kind


class CupyDevice:
    def __init__(self, ordinal):
        self.id = ordinal


@pytest.mark.parametrize(
    "device", [1, Device(1), CupyDevice(1), "cuda:1", tvm_ffi.device("cuda:1")]
)
def test_the_kernels_that_are_launched_are_loaded_on_the_device(device, mod, driver_stub):
    mod.preload(device)
    assert loaded(driver_stub) == [("one", 1), ("two", 1)]
    assert not driver_stub.launches()


@pytest.mark.parametrize("device", [None, Device(None)])
def test_the_current_device_is_the_default_and_0_in_a_thread_that_has_none(
    device, mod, driver_stub
):
    with driver_stub.current_device(1):
        mod.preload(device)
        mod.preload()
    thread = threading.Thread(target=mod.preload, args=(device,))
    thread.start()
    thread.join()
    assert [on for _, on in loaded(driver_stub)] == [1, 1, 0, 0]


def test_a_launch_after_it_loads_nothing_more(mod, driver_stub):
    mod.preload(1)
    mod.preload(1)
    before = len(driver_stub.log())
    mod.f(cuda_array(driver_stub, 4, device=1))
    calls = {call.function for call in driver_stub.log()[before:]}
    assert not calls & {"cuLibraryLoadData", "cuLibraryGetKernel", "cuDevicePrimaryCtxRetain"}
    assert len(driver_stub.calls("cuLibraryLoadData")) == 1


def test_kernels_for_other_architectures_alone_are_left_out(driver_stub):
    source = """
    extern "C" __global__ void everywhere(float* x) {}
    #if __CUDA_ARCH__ >= 900
    extern "C" __global__ void newer(float* x) {}
    #endif
    """
    mod = tc.load_inline("preloaded_archs", source, arch=["sm_80", "sm_90"])
    mod.preload(2)
    mod.preload(0)
    assert loaded(driver_stub) == [("everywhere", 2), ("everywhere", 0), ("newer", 0)]


def test_an_image_for_another_arch_is_named_as_at_a_launch(mod, driver_stub):
    with pytest.raises(
        tc.LaunchError, match="preload: the image kernels is for sm_90, device 2 is sm_80: compile"
    ):
        mod.preload(2)
