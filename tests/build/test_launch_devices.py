"""Where a launch lands: on its tensors' device and the caller's stream, or as its arguments say."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import tvm_ffi
from stub.cuda_array import CUDA_HOST, cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin import Dispatch, Launch


def current_context(stub) -> int:
    context = ctypes.c_void_p()
    stub.call("cuCtxGetCurrent", ctypes.byref(context))
    return context.value or 0


def in_thread(work):
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


@pytest.mark.parametrize(("device", "current"), [(0, 1), (1, 0), (1, 1)])
def test_a_launch_lands_on_its_tensors_device(device, current, ops, driver_stub):
    x = cuda_array(driver_stub, 4, device=device)

    def work():
        ops.two(x, x)
        return current_context(driver_stub)

    with driver_stub.current_device(current) as context:
        assert work() == context
    assert in_thread(work) == 0  # it has none before, and keeps none
    for launch in driver_stub.launches():
        assert (launch.device, launch.current_device) == (device, device)
    assert driver_stub.object_counts().pushed_contexts == 0


def test_without_a_tensor_the_current_device_is_taken_or_device_0(ops, scalars, driver_stub):
    host = cuda_array(driver_stub, 4, device_type=CUDA_HOST)
    with driver_stub.current_device(1):
        scalars.i[1, 1](1)
    in_thread(lambda: scalars.i[1, 1](1))
    in_thread(lambda: scalars.pointer[1, 1](None))
    in_thread(lambda: ops.two(host, host))
    assert [launch.device for launch in driver_stub.launches()] == [1, 0, 0, 0]


# `Launch(stream=..., device=...)`: where a launch goes, as its author says it


SOURCE = """
extern "C" __global__ void one(float* x, int n) {}
extern "C" __global__ void two(float* x) {}
extern "C" __global__ void tick(int n) {}
"""
SHAPE = {"grid": 1, "block": 32}
TARGET = {"stream": "stream", "device": "device_id"}
MULTIPROCESSORS = 16  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
FUNCTIONS = {
    # As TileLang's launchers are called: the arguments, then stream and device.
    "both": [
        Launch(
            kernel="one", params="float* x, int n, uint64_t stream, int32_t device_id",
            **SHAPE, **TARGET,
        ),
        Launch(kernel="two", **SHAPE, **TARGET),
    ],
    "handle": Launch(
        kernel="two", params="float* x, cudaStream_t stream", stream="stream", **SHAPE
    ),
    "pointer": Launch(kernel="two", params="float* x, void* stream", stream="stream", **SHAPE),
    "free": Launch(
        kernel="tick", grid="num_sms", block=32, params="int64_t s, int64_t d",
        args={"n": "num_sms"}, stream="s * 1", device="d",
    ),
    "divided": Launch(
        kernel="tick", params="int n, int d", stream="16 // n", device="8 // d", **SHAPE
    ),
    "chosen": Dispatch([
        Launch(
            kernel="tick", params="int n, int64_t stream, int device_id", when="n < num_sms",
            **SHAPE, **TARGET,
        ),
        Launch(kernel="two", params="float* x, int64_t stream, int device_id", **SHAPE, **TARGET),
    ]),
}  # fmt: skip


@pytest.fixture(scope="module")
def module():
    return tc.load_inline("targets", SOURCE, functions=FUNCTIONS, arch="sm_90")


def went(stub):
    return [(launch.kernel, launch.device, launch.stream) for launch in stub.launches()]


def test_all_launches_of_a_call_go_where_its_arguments_say(module, driver_stub):
    with driver_stub.stream(1) as stream, driver_stub.current_device(0):
        x = cuda_array(driver_stub, 4, device=1)
        module.both(x, 3, stream, 1)
        assert went(driver_stub) == [("one", 1, stream), ("two", 1, stream)]


def test_a_stream_may_be_passed_as_a_handle_or_as_an_object(module, driver_stub, x):
    with driver_stub.stream() as stream:
        module.handle(x, ctypes.c_void_p(stream))
        module.handle(x, Protocol(stream))
        assert went(driver_stub) == [("two", 0, stream)] * 2
    for name in ("handle", "pointer"):
        with pytest.raises(TypeError, match=r"\(stream: .*\): got a tensor, expected a stream"):
            module[name](x, x)
    with pytest.raises(TypeError, match="got the int 5, expected a stream: an object"):
        module.handle(x, 5)


def test_without_tensors_the_device_decides_everything(module, driver_stub):
    driver_stub.set_attribute(0, MULTIPROCESSORS, 10)
    driver_stub.set_attribute(1, MULTIPROCESSORS, 20)
    with driver_stub.stream(1) as stream, driver_stub.current_device(0):
        for device, handle, sms in ((0, 0, 10), (1, stream, 20)):
            module.free(handle, device)
            launch = driver_stub.launches()[-1]
            assert (launch.device, launch.stream, launch.grid[0]) == (device, handle, sms)
            assert launch.values("i") == (sms,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, x: m.both(x, 1, 0, 1), "the launch's device is 1, but its tensors are on cuda:"),
        (lambda m, x: m.free(0, -1), "free: the launch's device is -1, expected 0 to 63"),
        # What would be read as an address: a mistaken argument, most likely.
        (lambda m, x: m.free(64, 0), "free: the launch's stream is 64, which is not a valid h"),
        (lambda m, x: m.divided(0, 80), "divided: the expression '16 // n' divides by zero"),
    ],
)  # fmt: skip
def test_what_is_nowhere_is_refused_before_anything_of_the_launch(
    module, driver_stub, x, call, message
):
    with pytest.raises(ValueError, match=message):
        call(module, x)
    names = {call.function for call in driver_stub.log()}
    assert not names & {"cuLaunchKernelEx", "cuLibraryLoadData", "cuDevicePrimaryCtxRetain"}


def test_instances_go_where_they_say_and_are_chosen_for_that_device(module, driver_stub):
    driver_stub.set_attribute(0, MULTIPROCESSORS, 10)
    driver_stub.set_attribute(1, MULTIPROCESSORS, 20)
    x = cuda_array(driver_stub, 4, device=1)
    with driver_stub.stream(1) as stream:
        module.chosen(15, stream, 1)
        module.chosen(x, stream, 1)
        with pytest.raises(ValueError, match="condition 'n < num_sms' does not hold"):
            module.chosen(15, 0, 0)
        assert went(driver_stub) == [("tick", 1, stream), ("two", 1, stream)]


# Streams: the caller's, `k.on` and `tc.use_stream`, of whatever library


class Protocol:
    """A stream as cuda.core has them."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return (0, self.handle)


def test_on_takes_any_library_s_stream(ops, driver_stub, x):
    with driver_stub.stream() as handle:
        torch, cupy = SimpleNamespace(cuda_stream=handle), SimpleNamespace(ptr=handle)
        for stream in (handle, Protocol(handle), torch, cupy):
            ops.two.on(stream)(x, x)
        ops.two(x, x)
    assert [launch.stream for launch in driver_stub.launches()] == [handle] * 4 + [0]


def test_what_is_no_stream_is_refused(ops):
    for value, error, text in (
        ("1", TypeError, "'str' object cannot be interpreted as an integer"),
        (Protocol(3), ValueError, r"expected a stream handle \(.*\), got 3"),
    ):
        for use in (ops.two.on, lambda value: tc.use_stream(value).__enter__()):
            with pytest.raises(error, match=text):
                use(value)


def test_use_stream_sets_this_thread_s_stream_inside_the_block(ops, driver_stub, x):
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


def test_use_stream_holds_for_the_stream_s_device(ops, driver_stub):
    x, y = cuda_array(driver_stub, 4), cuda_array(driver_stub, 4, device=1)
    with driver_stub.stream(device=1) as handle:
        # CuPy's streams know their device; a default stream's is -1.
        cupy = [SimpleNamespace(ptr=handle, device_id=device) for device in (1, -1)]
        for stream in (handle, Protocol(handle), *cupy):
            with tc.use_stream(stream):
                ops.two(x, x)
                ops.two(y, y)
        with tc.use_stream(handle, device=tvm_ffi.device("cuda:1")):
            ops.two(y, y)
    launched = [(launch.device, launch.stream) for launch in driver_stub.launches()]
    assert launched == [(0, 0), (1, handle)] * 4 + [(1, handle)]
    # A default stream is the current device's.
    with driver_stub.current_device(1), tc.use_stream(2):
        ops.two(x, x)
        ops.two(y, y)
    assert [launch.stream for launch in driver_stub.launches()[-2:]] == [0, 2]


def test_a_stream_of_another_device_is_refused(ops, driver_stub):
    x = cuda_array(driver_stub, 4)
    told = "stream is on cuda:1, but the launch is on cuda:0"
    with driver_stub.stream(1) as handle, pytest.raises(ValueError, match=told):
        ops.two.on(handle)(x, x)
    assert not driver_stub.launches()
