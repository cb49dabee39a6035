"""Loading on a device: in captures in every mode, before the first launch, and giving all back."""

from __future__ import annotations

import os
import sys
import threading

import pytest
from processes import in_new_process

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

from . import counting  # noqa: E402


@pytest.fixture
def mod() -> tc.Module:
    return counting.fresh()


def captured_and_replayed(mod, x: torch.Tensor, mode: str) -> None:
    """Capture a launch on the device of x in a mode, replay it twice, compare."""
    with torch.cuda.device(x.device):
        graph = torch.cuda.CUDAGraph()
        # Without a stream, torch takes one of the device that was current at its first capture.
        stream = torch.cuda.Stream(x.device)
        with torch.cuda.graph(graph, stream=stream, capture_error_mode=mode):
            mod.count(x)
        graph.replay()
        graph.replay()
    assert (x.cpu() == 2).all()


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
@pytest.mark.parametrize("preloads", [False, True])
def test_the_first_call_may_be_in_a_capture(mode, preloads, mod):
    for device in counting.all_devices():
        x = torch.zeros(1000, dtype=torch.int32, device=device)
        if preloads:
            mod.preload(device)
        captured_and_replayed(mod, x, mode)
        counting.synchronize()
        mod.unload()


def test_opting_into_shared_memory_may_be_in_a_capture(mod):
    x = torch.zeros(1, dtype=torch.int32, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mod.large(x)
    graph.replay()
    assert x.item() == 90_000 // 4 - 1


def test_another_thread_s_first_call_leaves_a_capture_alone(mod):
    x = torch.zeros(1000, dtype=torch.int32, device="cuda")
    y, side = torch.zeros_like(x), torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    other = tc.load_inline("gpu_other_thread", counting.SOURCE, functions=counting.FUNCTIONS)
    other.unload()
    mod.preload()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        mod.count(x)
        thread = threading.Thread(target=other.count.on(side), args=(y,))
        thread.start()
        thread.join()
        mod.count(x)
    graph.replay()
    torch.cuda.synchronize()
    assert (x.cpu() == 2).all()
    assert (y.cpu() == 1).all()


def test_a_first_call_in_a_capture_loads_eagerly_too():
    """Where the driver loads whole images at once: CUDA_MODULE_LOADING=EAGER."""
    script = f"""
import torch
import tvmffi_cubin as tc
mod = tc.load_inline(
    "gpu_eager", {counting.SOURCE!r},
    functions={{"count": tc.Launch(grid="ceil_div(n, 256)", block=256, args={{"n": "x.numel"}})}},
)
x = torch.zeros(1000, dtype=torch.int32, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    mod.count(x)
graph.replay()
raise SystemExit(0 if (x.cpu() == 1).all() else 1)
"""
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "CUDA_MODULE_LOADING": "EAGER"
    }  # fmt: skip
    in_new_process(script, env=environment)


# Before the first launch, and giving everything back, on all devices


def test_preloading_on_every_device_then_launching(mod):
    for device in counting.all_devices():
        mod.preload(device)
        mod.preload(device.index)
    mod.preload()
    for device in counting.all_devices():
        x = torch.zeros(1000, dtype=torch.int32, device=device)
        mod.count(x)
        assert (x.cpu() == 1).all()


def test_unloading_on_all_devices_and_calling_again(mod):
    xs = [torch.zeros(1000, dtype=torch.int32, device=device) for device in counting.all_devices()]
    out = [torch.zeros(1, dtype=torch.int32, device=device) for device in counting.all_devices()]
    for turn in range(1, 6):
        for x, y in zip(xs, out, strict=True):
            mod.count(x)
            mod.large(y)
        assert all((x.cpu() == turn).all() for x in xs)
        counting.synchronize()
        mod.unload()
        mod.unload()
    # torch's own reference keeps the contexts alive.
    assert all((x.cpu() == 5).all() for x in xs)


def test_unloading_gives_the_devices_contexts_back():
    """In a process where nobody else has any: the driver says whether a device has one."""
    script = """
import ctypes
import tvmffi_cubin as tc

driver = ctypes.CDLL("libcuda.so.1")
assert driver.cuInit(0) == 0
count = ctypes.c_int()
driver.cuDeviceGetCount(ctypes.byref(count))


def active():
    found = []
    for device in range(count.value):
        flags, state = ctypes.c_uint(), ctypes.c_int(-1)
        driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(state))
        found.append(state.value)
    return found


def wait():
    context = ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxPushCurrent_v2(context) == 0
    assert driver.cuCtxSynchronize() == 0
    assert driver.cuCtxPopCurrent_v2(ctypes.byref(context)) == 0
    assert driver.cuDevicePrimaryCtxRelease_v2(0) == 0


mod = tc.load_inline("gpu_contexts", 'extern "C" __global__ void k(int n) {}')
nothing = [0] * count.value
assert active() == nothing, active()
for _ in range(3):
    mod.k[1, 1](1)
    assert active()[0] == 1, active()
    wait()
    for device in range(count.value):
        mod.preload(device)
    assert active() == [1] * count.value, active()
    mod.unload()
    assert active() == nothing, active()
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    in_new_process(script, env=environment)
