"""Where a launch lands: on its tensors' device and the caller's stream, from any thread."""

import ctypes
from concurrent.futures import ThreadPoolExecutor

import pytest
from stub.cuda_array import CUDA_HOST, cuda_array


def current_context(stub) -> int:
    context = ctypes.c_void_p()
    stub.call("cuCtxGetCurrent", ctypes.byref(context))
    return context.value or 0


def in_thread(work):
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


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
