"""Several GPUs and threads: where launches land, and a long run.

What needs a second GPU is skipped where there is one; the rest runs on all that there are.
``HAMMER_SECONDS`` sets how long the long run takes, 20 s otherwise.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
from pathlib import Path

import pytest
from processes import together

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

from .counting import all_devices, fresh, synchronize  # noqa: E402

HAMMER_SECONDS = float(os.environ.get("HAMMER_SECONDS", "20"))


@pytest.fixture
def mod() -> tc.Module:
    return fresh()


def current_context() -> int:
    driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    assert driver.cuCtxGetCurrent(ctypes.byref(context)) == 0
    return context.value or 0


# Where launches land


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU: a second one is needed")
@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("device", [0, 1])
def test_a_launch_follows_its_tensors_and_leaves_the_current_device(device, current, mod):
    x = torch.zeros(1000, dtype=torch.int32, device=f"cuda:{device}")
    with torch.cuda.device(current):
        before = current_context()
        for _ in range(3):
            mod.count(x)
        assert (torch.cuda.current_device(), current_context()) == (current, before)
    assert (x.cpu() == 3).all()


# A long run


def status(name: str) -> int:
    """Return a figure of this process: "Threads", or "VmRSS" in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def held() -> dict[str, int]:
    """Return what this process holds, in MiB and numbers."""
    gc.collect()
    found = {"threads": status("Threads"), "descriptors": len(os.listdir("/proc/self/fd"))}
    return found | {"resident": status("VmRSS") >> 10}


def test_32_threads_over_all_devices_leave_nothing_behind(mod):
    """In rounds, each waited for and unloaded; what is held is compared with the second round's."""
    threads, rounds = 32, 6
    devices = all_devices()
    xs = [
        torch.zeros(256, dtype=torch.int32, device=devices[index % len(devices)])
        for index in range(threads)
    ]
    out = [torch.zeros(1, dtype=torch.int32, device=x.device) for x in xs]
    streams = [torch.cuda.Stream(x.device) for x in xs]
    counts = [0] * threads
    synchronize()

    def work(index: int) -> None:
        if index % 4 == 0:
            mod.preload(xs[index].device)
        end = time.monotonic() + HAMMER_SECONDS / rounds
        while time.monotonic() < end:
            with torch.cuda.stream(streams[index]):
                for _ in range(100):
                    mod.count(xs[index])
                mod.large(out[index])
            counts[index] += 100
            streams[index].synchronize()

    after = []
    for _ in range(rounds):
        together(threads, work)
        synchronize()
        mod.unload()
        after.append(held())
    assert [int(x[0]) for x in xs] == counts
    assert all((x == x[0]).all() for x in xs)
    assert all(x.item() == 90_000 // 4 - 1 for x in out)
    early, late = after[1], after[-1]
    assert late["threads"] <= early["threads"]
    assert late["descriptors"] <= early["descriptors"]
    assert late["resident"] - early["resident"] < 64
