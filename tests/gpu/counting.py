"""A module that counts, on all devices, for tests that come without it loaded."""

from __future__ import annotations

import torch

import tvmffi_cubin as tc

SOURCE = r"""
extern "C" __global__ void count(int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
extern "C" __global__ void large(int* x, int n) {
  extern __shared__ int pool[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) pool[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) *x = pool[n - 1];
}
"""
FUNCTIONS = {
    "count": tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"}),
    "large": tc.Launch(grid=1, block=256, dynamic_smem_bytes=90_000, args={"n": 90_000 // 4}),
}


def fresh() -> tc.Module:
    """Return the module, of which nothing is loaded."""
    mod = tc.load_inline("gpu_counting", SOURCE, functions=FUNCTIONS)
    synchronize()
    mod.unload()
    return mod


def synchronize() -> None:
    for index in range(torch.cuda.device_count()):
        torch.cuda.synchronize(index)


def all_devices() -> list[torch.device]:
    return [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
