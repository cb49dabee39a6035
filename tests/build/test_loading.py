"""Loading before a launch and in a capture: images and kernels, and nothing else."""

import ctypes
import threading
from types import SimpleNamespace

import pytest
import tvm_ffi
import wrapper_sources
from launch_setters import rows
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


def torch_device(index):
    return SimpleNamespace(type="cuda", index=index)


@pytest.mark.parametrize(
    "device",
    [1, torch_device(1), SimpleNamespace(id=1), "cuda:1", tvm_ffi.device("cuda:1")],
    ids=["int", "torch", "cupy", "text", "tvm_ffi"],
)
def test_the_kernels_that_are_launched_are_loaded_on_the_device(device, mod, driver_stub):
    mod.preload(device)
    assert loaded(driver_stub) == [("one", 1), ("two", 1)]
    assert not driver_stub.launches()


def test_the_current_device_is_the_default_and_0_in_a_thread_that_has_none(mod, driver_stub):
    with driver_stub.current_device(1):
        mod.preload(torch_device(None))
        mod.preload()
    thread = threading.Thread(target=mod.preload)
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
    with pytest.raises(tc.LaunchError, match="preload: the image .* sm_90, but device 2 is sm_80:"):
        mod.preload(2)


# Captures: first calls load, and the capture goes on


GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2


@pytest.fixture
def stream(driver_stub):
    with driver_stub.current_device(0), driver_stub.stream() as handle:
        yield handle


def capture_mode(driver_stub, mode):
    """Set this thread's capture mode; return what it was."""
    value = ctypes.c_int(mode)
    driver_stub.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(value))
    return value.value


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
def test_a_first_call_in_a_capture_loads_and_is_captured(mode, mod, stream, driver_stub):
    with driver_stub.capture(stream, mode):
        mod.f.on(stream)(cuda_array(driver_stub, 4))
    mod.unload()
    assert [launch.stream for launch in driver_stub.launches()] == [stream] * 2
    assert len(driver_stub.calls("cuLibraryLoadData")) == 1


def test_loading_leaves_the_thread_s_own_capture_mode_and_a_capture_alone(mod, stream, driver_stub):
    for mode in (GLOBAL, THREAD_LOCAL, RELAXED):
        before = capture_mode(driver_stub, mode)
        try:
            mod.f(cuda_array(driver_stub, 4))
            mod.preload(1)
            mod.unload()
        finally:
            assert capture_mode(driver_stub, before) == mode
    with driver_stub.capture(stream, GLOBAL):
        mod.preload(0)
        mod.unload()


def test_a_wrapper_s_first_call_in_a_capture_loads_and_is_captured(stream, driver_stub):
    image = tc.nvrtc.nvrtc_compile(wrapper_sources.KERNELS, arch="sm_90")
    mod = tc.load_inline("w_captured", wrapper_sources.DRIVER, embed_cubin={"kernels": image})
    x = cuda_array(driver_stub, 1000)
    with driver_stub.capture(stream, GLOBAL), tc.use_stream(stream):
        mod.add_one(x, x)
    assert driver_stub.launches()[0].stream == stream


# What each of a wrapper's launches is opted into, beside its stream
OPTED_IN = {
    "run": [("grid", (16, 1, 1)), ("cluster", (16, 1, 1))],
    "run_shared": [("dynamic_smem_bytes", (100_000,))],
    "run_wide": [],  # a kernel whose own cluster has 16 blocks
}


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("name", OPTED_IN)
def test_what_a_wrapper_s_launch_needs_is_opted_into_before_it(
    name, device, launching, driver_stub
):
    y = cuda_array(driver_stub, 64, device=device)
    arrays = (y, y) if name == "run" else (y,)
    with driver_stub.stream(device) as stream, driver_stub.current_device(0):
        table = rows([*OPTED_IN[name], ("stream", (stream,))])
        for _ in range(2):
            with driver_stub.capture(stream, GLOBAL):
                launching[name](table, *arrays)
        assert driver_stub.object_counts().pushed_contexts == 1
    assert driver_stub.launches(failed=True) == []
    assert [x.device for x in driver_stub.launches()] == [device, device]
