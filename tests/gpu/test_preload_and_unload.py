"""Loading before the first launch, and giving everything back, on all devices."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

from .counting import all_devices, fresh, synchronize  # noqa: E402


@pytest.fixture
def mod() -> tc.Module:
    return fresh()


def test_preloading_on_every_device_then_launching(mod):
    for device in all_devices():
        mod.preload(device)
        mod.preload(device.index)
    mod.preload()
    for device in all_devices():
        x = torch.zeros(1000, dtype=torch.int32, device=device)
        mod.count(x)
        assert (x.cpu() == 1).all()


def test_unloading_on_all_devices_and_calling_again(mod):
    xs = [torch.zeros(1000, dtype=torch.int32, device=device) for device in all_devices()]
    out = [torch.zeros(1, dtype=torch.int32, device=device) for device in all_devices()]
    for turn in range(1, 6):
        for x, y in zip(xs, out, strict=True):
            mod.count(x)
            mod.large(y)
        assert all((x.cpu() == turn).all() for x in xs)
        synchronize()
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
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
