"""First calls inside the capture of a CUDA graph, in every capture mode."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

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
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
