"""Streams, devices, threads, graphs, limits and failures on a real device."""

from __future__ import annotations

import os
import subprocess
import sys
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


@pytest.mark.parametrize("way", ["on", "use_stream"])
def test_a_stream_that_is_given_is_used(way):
    slow = tc.load_inline("gpu_slow", SLOW).slow
    x = torch.zeros(1, device="cuda")
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    if way == "on":
        slow[1, 1].on(side)(x, 200_000_000)
    else:
        with tc.use_stream(side):
            slow[1, 1](x, 200_000_000)
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


def test_tensors_on_the_second_device_launch_there(saxpy):
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU: a second one is needed")
    x, y = torch.ones(1000, device="cuda:1"), torch.zeros(1000, device="cuda:1")
    saxpy(2.0, x, y)
    torch.testing.assert_close(y, 2 * x)
    assert torch.cuda.current_device() == 0
    with pytest.raises(ValueError, match="on cuda:0, wanted one on cuda:1"):
        saxpy(2.0, x, torch.zeros(1000, device="cuda:0"))


def test_all_of_the_shared_memory_can_be_asked_for():
    limit = torch.cuda.get_device_properties(0).shared_memory_per_block_optin
    mod = tc.load_inline("gpu_bare", kernels.SAXPY)
    x = torch.ones(8, device="cuda")
    mod.saxpy[1, 8, limit](0.0, x, x, 8)
    torch.cuda.synchronize()
    with pytest.raises(tc.LaunchLimitError, match=str(limit)):
        mod.saxpy[1, 8, limit + 1](0.0, x, x, 8)


REVERSE = r"""
extern "C" __global__ void reverse(int* x, int n) {
  extern __shared__ int row[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = row[n - 1 - i];
}
"""


def test_200_kb_of_shared_memory_are_all_there():
    if torch.cuda.get_device_properties(0).shared_memory_per_block_optin < 200 * 1024:
        pytest.skip("the GPU has less than 200 KB of shared memory for a block")
    launch = tc.Launch(grid=1, block=1024, dynamic_smem_bytes="n * 4", args={"n": "x.numel"})
    reverse = tc.load_inline("gpu_reverse", REVERSE, functions={"reverse": launch}).reverse
    x = torch.arange(200 * 1024 // 4, dtype=torch.int32, device="cuda")
    expected = x.flip(0)
    reverse(x)
    torch.testing.assert_close(x, expected)


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


def test_a_forked_child_is_told_to_spawn():
    script = f"""
import os, torch
import tvmffi_cubin as tc
mod = tc.load_inline("gpu_fork", {kernels.SAXPY!r})
x = torch.ones(8, device="cuda")
mod.saxpy[1, 8](1.0, x, x, 8)
pid = os.fork()
if pid == 0:
    try:
        mod.saxpy[1, 8](1.0, x, x, 8)
    except tc.LaunchError as error:
        os._exit(0 if "spawn" in str(error) else 2)
    os._exit(3)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert done.returncode == 0
