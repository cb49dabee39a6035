"""Streams: the caller's, `k.on` and `tc.use_stream`, of whatever library."""

import threading

import pytest
import tvm_ffi
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


class Protocol:
    """A stream as cuda.core has them."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return (0, self.handle)


class Torch:
    def __init__(self, handle):
        self.cuda_stream = handle


class CuPy:
    def __init__(self, handle):
        self.ptr = handle


@pytest.mark.parametrize("kind", [int, Protocol, Torch, CuPy])
def test_on_takes_any_library_s_stream(kind, ops, driver_stub):
    x = cuda_array(driver_stub, 4)
    with driver_stub.stream() as handle:
        ops.two.on(kind(handle))(x, x)
        ops.two(x, x)
    assert [launch.stream for launch in driver_stub.launches()] == [handle, 0]


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ("1", TypeError, "'str' object cannot be interpreted as an integer"),
        (-1, ValueError, "got -1 as a stream, which is not a handle"),
        (Protocol(3), ValueError, "got 3 as a stream, which is not a handle"),
    ],
)
def test_what_is_no_stream_is_refused(value, error, text, ops):
    for use in (ops.two.on, lambda value: tc.use_stream(value).__enter__()):
        with pytest.raises(error, match=text):
            use(value)


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


class WithDevice(CuPy):
    """A stream that knows its device, as CuPy's do; a default stream's is -1."""

    def __init__(self, handle, device_id):
        super().__init__(handle)
        self.device_id = device_id


def test_use_stream_holds_for_the_stream_s_device(ops, driver_stub):
    x, y = cuda_array(driver_stub, 4), cuda_array(driver_stub, 4, device=1)
    with driver_stub.stream(device=1) as handle:
        for stream in (handle, Protocol(handle), WithDevice(handle, 1), WithDevice(handle, -1)):
            with tc.use_stream(stream):
                ops.two(x, x)
                ops.two(y, y)
        with tc.use_stream(handle, device=tvm_ffi.device("cuda:1")):
            ops.two(y, y)
    launched = [(launch.device, launch.stream) for launch in driver_stub.launches()]
    assert launched == [(0, 0), (1, handle)] * 4 + [(1, handle)]


def test_use_stream_takes_the_current_device_of_a_default_stream(ops, driver_stub):
    x, y = cuda_array(driver_stub, 4), cuda_array(driver_stub, 4, device=1)
    with driver_stub.current_device(1), tc.use_stream(2):
        ops.two(x, x)
        ops.two(y, y)
    assert [launch.stream for launch in driver_stub.launches()] == [0, 2]


def test_a_stream_of_another_device_is_refused(ops, driver_stub):
    x = cuda_array(driver_stub, 4, device=0)
    with driver_stub.stream(1) as handle:
        with pytest.raises(ValueError, match="stream is of cuda:1, the launch is on cuda:0"):
            ops.two.on(handle)(x, x)
        there = cuda_array(driver_stub, 4, device=1)
        ops.two.on(handle)(there, there)
    (launch,) = driver_stub.launches()
    assert (launch.device, launch.stream) == (1, handle)
