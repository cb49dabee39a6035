"""Streams, devices, threads, graphs, limits and failures on a real device."""

from __future__ import annotations

import threading

import pytest

import tvmffi_cubin as tc

from . import kernels

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

LAUNCH = tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"})

SLOW = r"""
extern "C" __global__ void slow(float* x, long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {}
  x[0] += 1;
}
"""


@pytest.fixture
def saxpy():
    return tc.load_inline("gpu_launching", kernels.SAXPY, functions={"saxpy": LAUNCH}).saxpy


def test_launches_go_to_torchs_current_stream():
    slow = tc.load_inline("gpu_slow", SLOW).slow
    x = torch.zeros(1, device="cuda")
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        slow[1, 1](x, 200_000_000)
    assert torch.cuda.current_stream().query()
    assert not side.query()
    side.synchronize()
    assert x.item() == 1


def test_a_launch_is_captured_in_a_cuda_graph(saxpy):
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    saxpy(1.0, x, y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        saxpy(1.0, x, y)
    y.zero_()
    for _ in range(3):
        graph.replay()
    torch.testing.assert_close(y, torch.full_like(y, 3))


def test_a_thread_that_never_touched_cuda_can_launch(saxpy):
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    threads = [threading.Thread(target=saxpy, args=(0.0, x, y)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    saxpy(1.0, x, y)
    torch.testing.assert_close(y, x)


def test_all_of_the_shared_memory_can_be_asked_for():
    limit = torch.cuda.get_device_properties(0).shared_memory_per_block_optin
    mod = tc.load_inline("gpu_bare", kernels.SAXPY)
    x = torch.ones(8, device="cuda")
    mod.saxpy[1, 8, limit](0.0, x, x, 8)
    torch.cuda.synchronize()
    with pytest.raises(tc.LaunchLimitError, match=str(limit)):
        mod.saxpy[1, 8, limit + 1](0.0, x, x, 8)


def test_cupy_arrays(saxpy):
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    theirs, ours = cupy.cuda.runtime.runtimeGetVersion() // 1000, tc.nvrtc.version()[0]
    if theirs != ours:
        # CuPy takes whichever NVRTC the process has loaded, and its own family's headers.
        pytest.skip(f"CuPy is of CUDA {theirs}, TVMFFI_CUBIN_CUDA asks for {ours}")
    x, y = cupy.arange(1000, dtype=cupy.float32), cupy.ones(1000, dtype=cupy.float32)
    saxpy(2.0, x, y)
    cupy.cuda.Device().synchronize()
    assert cupy.allclose(y, 2 * cupy.arange(1000) + 1)
