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

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def mod() -> tc.Module:
    return counting.fresh()


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
@pytest.mark.parametrize("preloads", [False, True])
def test_the_first_call_may_be_in_a_capture_and_come_again_after_unloading(mode, preloads, mod):
    for device in counting.all_devices() * 2:
        x = torch.zeros(1000, dtype=torch.int32, device=device)
        y = torch.zeros(1, dtype=torch.int32, device=device)
        if preloads:
            mod.preload(device)
        with torch.cuda.device(device):
            graph = torch.cuda.CUDAGraph()
            # Without a stream, torch takes one of the device that was current at its first capture.
            stream = torch.cuda.Stream(device)
            with torch.cuda.graph(graph, stream=stream, capture_error_mode=mode):
                mod.count(x)
                mod.large(y)  # opts into shared memory
            graph.replay()
            graph.replay()
        assert (x.cpu() == 2).all()
        assert y.item() == 90_000 // 4 - 1
        del graph
        counting.synchronize()
        mod.unload()


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
mod = tc.load_inline("gpu_eager", {counting.SOURCE!r})
x = torch.zeros(1000, dtype=torch.int32, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    mod.count[4, 256](x, 1000)
graph.replay()
raise SystemExit(0 if (x.cpu() == 1).all() else 1)
"""
    in_new_process(script, env={**ENVIRONMENT, "CUDA_MODULE_LOADING": "EAGER"})
