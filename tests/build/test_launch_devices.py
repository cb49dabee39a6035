"""Where a launch lands: on its tensors' device and the caller's stream, from any thread."""

import ctypes
import threading

import pytest
from stub.cuda_array import CUDA_HOST, cuda_array

import tvmffi_cubin as tc


def current_context(stub) -> int:
    context = ctypes.c_void_p()
    stub.call("cuCtxGetCurrent", ctypes.byref(context))
    return context.value or 0


def in_thread(work):
    """Run `work` in a thread of its own; return its result or raise its error."""
    results = []

    def run():
        try:
            results.append((work(), None))
        except Exception as error:
            results.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    ((value, error),) = results
    if error is not None:
        raise error
    return value


# Devices


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("current", [0, 1])
def test_a_launch_lands_on_its_tensors_device(device, current, ops, driver_stub):
    x = cuda_array(driver_stub, 4, device=device)
    with driver_stub.current_device(current) as context:
        ops.two(x, x)
        assert current_context(driver_stub) == context
    (launch,) = driver_stub.launches()
    assert (launch.device, launch.current_device) == (device, device)


def test_a_thread_without_a_context_keeps_none(ops, driver_stub):
    x = cuda_array(driver_stub, 4, device=1)

    def work():
        ops.two(x, x)
        return current_context(driver_stub)

    assert in_thread(work) == 0
    assert driver_stub.launches()[0].device == 1
    assert driver_stub.object_counts().pushed_contexts == 0


def test_the_context_that_is_current_on_the_device_stays(ops, driver_stub):
    """Whichever context it is: the caller's stream may belong to it."""
    context = ctypes.c_void_p()
    driver_stub.call("cuCtxCreate_v2", ctypes.byref(context), 0, 0)
    try:
        x = cuda_array(driver_stub, 4)
        ops.two(x, x)
        assert current_context(driver_stub) == context.value
        assert not driver_stub.calls("cuCtxPushCurrent")
    finally:
        driver_stub.call("cuCtxDestroy_v2", context)


def test_without_a_tensor_the_current_device_is_taken(scalars, driver_stub):
    with driver_stub.current_device(1):
        scalars.i[1, 1](1)
    assert driver_stub.launches()[0].device == 1


def test_without_a_tensor_or_a_context_device_0_is_taken(ops, scalars, driver_stub):
    host = cuda_array(driver_stub, 4, device_type=CUDA_HOST)
    in_thread(lambda: scalars.i[1, 1](1))
    in_thread(lambda: scalars.pointer[1, 1](None))
    in_thread(lambda: ops.two(host, host))
    assert [launch.device for launch in driver_stub.launches()] == [0, 0, 0]


def test_num_sms_is_that_of_the_tensors_device(driver_stub):
    mod = tc.load_inline(
        "sms",
        'extern "C" __global__ void k(float* x, int n) {}',
        functions={"k": tc.Launch(grid="num_sms", block=1, args={"n": "num_sms * 2"})},
        arch="sm_90",
    )
    driver_stub.set_attribute(0, 16, 10)
    driver_stub.set_attribute(1, 16, 20)
    for device, count in ((1, 20), (0, 10)):
        mod.k(cuda_array(driver_stub, 1, device=device))
        launch = driver_stub.launches()[-1]
        assert (launch.grid[0], launch.values("Pi")[1]) == (count, 2 * count)


def test_an_image_for_another_arch_names_both(ops, driver_stub):
    y = cuda_array(driver_stub, 4, device=2)
    with pytest.raises(tc.LaunchError) as error:
        ops.dynamic(y, 16)
    text = str(error.value)
    assert text.startswith("dynamic: the image kernels is for sm_90, device 2 is sm_80: compile it")
    assert "CUDA_ERROR_NO_BINARY_FOR_GPU" in text
    for size in (64 * 1024, 300 * 1024):
        with pytest.raises(tc.LaunchError, match="is for sm_90, device 2 is sm_80"):
            ops.dynamic(y, size)
    ops.dynamic(cuda_array(driver_stub, 4), 16)


def test_an_image_for_another_arch_alone_names_it_too(driver_stub):
    mod = tc.load_inline("old", 'extern "C" __global__ void k() {}', arch="sm_75")
    with pytest.raises(tc.LaunchError, match="is for sm_75, device 0 is sm_90"):
        mod.k[1, 1]()


# Streams


def test_the_default_stream_is_null(ops, driver_stub):
    x = cuda_array(driver_stub, 4)
    ops.two(x, x)
    assert driver_stub.launches()[0].stream == 0


class Protocol:
    """A stream as cuda.core has them."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return (0, self.handle)


class Attribute:
    """The protocol's earlier form."""

    def __init__(self, handle):
        self.__cuda_stream__ = (0, handle)


class Torch:
    def __init__(self, handle):
        self.cuda_stream = handle


class CuPy:
    def __init__(self, handle):
        self.ptr = handle


@pytest.mark.parametrize("kind", [int, Protocol, Attribute, Torch, CuPy])
def test_on_takes_any_library_s_stream(kind, ops, driver_stub):
    x = cuda_array(driver_stub, 4)
    with driver_stub.stream() as handle:
        ops.two.on(kind(handle))(x, x)
        ops.two(x, x)
    assert [launch.stream for launch in driver_stub.launches()] == [handle, 0]


def test_on_none_is_the_default_stream_inside_use_stream_too(ops, driver_stub):
    x = cuda_array(driver_stub, 4)
    with driver_stub.stream() as handle, tc.use_stream(handle):
        ops.two.on(None)(x, x)
    assert driver_stub.launches()[0].stream == 0


@pytest.mark.parametrize("value", ["1", 1.5, True, object(), [1]])
def test_what_is_no_stream_is_refused(value, ops, driver_stub):
    with pytest.raises(TypeError, match=f"got a {type(value).__name__} as a stream, wanted an int"):
        ops.two.on(value)
    with pytest.raises(TypeError, match="as a stream"), tc.use_stream(value):
        pass


def test_use_stream_sets_this_thread_s_stream_inside_the_block(ops, driver_stub):
    x = cuda_array(driver_stub, 4)
    with driver_stub.stream() as outer, driver_stub.stream() as inner:
        with tc.use_stream(outer):
            ops.two(x, x)
            with tc.use_stream(Protocol(inner)):
                ops.two(x, x)
                in_thread(lambda: ops.two(x, x))
            ops.two(x, x)
        ops.two(x, x)
    streams = [launch.stream for launch in driver_stub.launches()]
    assert streams == [outer, inner, 0, outer, 0]


def test_use_stream_holds_for_its_device(ops, driver_stub):
    x, y = cuda_array(driver_stub, 4), cuda_array(driver_stub, 4, device=1)
    with driver_stub.stream(device=1) as handle:
        with tc.use_stream(handle, device=1):
            ops.two(x, x)
            ops.two(y, y)
        with driver_stub.current_device(1), tc.use_stream(handle):
            ops.two(x, x)
            ops.two(y, y)
    assert [launch.stream for launch in driver_stub.launches()] == [0, handle, 0, handle]


def test_use_stream_ends_with_an_error_too(ops, driver_stub):
    x = cuda_array(driver_stub, 4)
    with driver_stub.stream() as handle:
        with pytest.raises(ZeroDivisionError), tc.use_stream(handle):
            raise ZeroDivisionError
        ops.two(x, x)
    assert driver_stub.launches()[0].stream == 0


def test_a_first_launch_can_be_captured_in_a_graph(driver_stub):
    """Loading, opting in and launching are all that a capture allows."""
    functions = {"k": tc.Launch(grid="num_sms", block=1, dynamic_smem_bytes=64 * 1024)}
    mod = tc.load_inline(
        "captured", 'extern "C" __global__ void k(float* x) {}', functions=functions, arch="sm_90"
    )
    x, graph = cuda_array(driver_stub, 4), ctypes.c_void_p()
    with driver_stub.current_device(0), driver_stub.stream() as handle:
        driver_stub.call("cuStreamBeginCapture_v2", ctypes.c_void_p(handle), 0)
        mod.k.on(handle)(x)
        driver_stub.call("cuStreamEndCapture", ctypes.c_void_p(handle), ctypes.byref(graph))
    assert graph.value
    assert driver_stub.launches()[0].stream == handle


def test_a_stream_of_another_device_is_refused(ops, driver_stub):
    x = cuda_array(driver_stub, 4, device=0)
    with driver_stub.stream(1) as handle:
        with pytest.raises(ValueError, match="stream is of cuda:1, the launch is on cuda:0"):
            ops.two.on(handle)(x, x)
        there = cuda_array(driver_stub, 4, device=1)
        ops.two.on(handle)(there, there)
    (launch,) = driver_stub.launches()
    assert (launch.device, launch.stream) == (1, handle)
