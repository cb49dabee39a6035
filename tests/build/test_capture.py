"""First calls while a CUDA graph is captured: they load, and the capture goes on."""

import ctypes

import pytest
import wrapper_sources
from launch_setters import rows
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2

SOURCE = 'extern "C" __global__ void k(float* x) {}'
FUNCTIONS = {"k": tc.Launch(grid="num_sms", block=1, dynamic_smem_bytes=64 * 1024)}


@pytest.fixture
def mod(driver_stub):
    """A module of which nothing is loaded."""
    mod = tc.load_inline("captured", SOURCE, functions=FUNCTIONS, arch="sm_90")
    mod.unload()
    return mod


@pytest.fixture
def stream(driver_stub):
    with driver_stub.current_device(0), driver_stub.stream() as handle:
        yield handle


def capture_mode(driver_stub, mode):
    """Set this thread's capture mode; return what it was."""
    value = ctypes.c_int(mode)
    driver_stub.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(value))
    return value.value


# First calls


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
@pytest.mark.parametrize("eager", [False, True])
def test_a_first_call_in_a_capture_loads_and_is_captured(mode, eager, mod, stream, driver_stub):
    if eager:
        driver_stub.set_eager()
    with driver_stub.capture(stream, mode):
        mod.k.on(stream)(cuda_array(driver_stub, 4))
    assert driver_stub.launches()[0].stream == stream
    assert len(driver_stub.calls("cuLibraryLoadData")) == 1


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
def test_the_thread_s_own_capture_mode_stays(mode, mod, driver_stub):
    before = capture_mode(driver_stub, mode)
    try:
        mod.k(cuda_array(driver_stub, 4))
        mod.preload(1)
        mod.unload()
    finally:
        assert capture_mode(driver_stub, before) == mode


def test_preloading_and_unloading_in_a_capture_leave_it_alone(mod, stream, driver_stub):
    driver_stub.set_eager()
    with driver_stub.capture(stream, GLOBAL):
        mod.preload(0)
        mod.unload()


# Wrappers


def test_a_wrapper_s_first_call_in_a_capture_loads_and_is_captured(stream, driver_stub):
    image = tc.nvrtc.nvrtc_compile(wrapper_sources.KERNELS, arch="sm_90")
    mod = tc.load_inline("w_captured", wrapper_sources.DRIVER, embed_cubin={"kernels": image})
    driver_stub.set_eager()
    x, y = cuda_array(driver_stub, (1000,)), cuda_array(driver_stub, (1000,))
    with driver_stub.capture(stream, GLOBAL), tc.use_stream(stream):
        mod.add_one(x, y)
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
