"""Memory on a real device: shared, all that there is, and pinned."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

SOURCE = r"""
extern "C" __global__ void turn(const float* x, float* y, int n) {
  extern __shared__ float row[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = row[n - 1 - i];
}
"""


def test_all_of_the_shared_memory_can_be_asked_for_and_a_tensor_may_be_pinned():
    limit = torch.cuda.get_device_properties(0).shared_memory_per_block_optin
    turn = tc.load_inline("gpu_memory", SOURCE).turn
    x = torch.arange(limit // 4, dtype=torch.float32).pin_memory()
    y = torch.zeros(limit // 4, device="cuda")
    turn[1, 256, limit](x, y, limit // 4)
    assert torch.equal(y.cpu(), x.flip(0))
    with pytest.raises(tc.LaunchLimitError, match=str(limit)):
        turn[1, 256, limit + 1](x, y, 1)
