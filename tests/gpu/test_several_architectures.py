"""Fatbins and PTX on a real device: which image it takes, and what it says where none will do."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")


# Beside the sum, what it was compiled for; 1 more than a multiple of 10 with features of its own.
SOURCE = r"""
extern "C" __global__ void add(const float* x, float* y, int* compiled_for, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL)
  if (i == 0) *compiled_for = __CUDA_ARCH__ + 1;
#else
  if (i == 0) *compiled_for = __CUDA_ARCH__;
#endif
}
"""


@pytest.mark.parametrize(
    ("arch", "expected"),
    [
        (None, 901),
        (["sm_80", "sm_90", "compute_90"], 900),
        ("compute_90", 900),
        (["sm_80", "sm_89", "compute_75", "compute_80"], 800),
    ],
)
def test_the_best_match_is_launched(arch, expected):
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("this test knows what a device of 9.0 takes")
    launch = tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"})
    mod = tc.load_inline("gpu_several", SOURCE, functions={"add": launch}, arch=arch)
    x, y = torch.randn(2, 1000, device="cuda")
    wanted, compiled_for = x + y, torch.zeros(1, dtype=torch.int32, device="cuda")
    mod.add(x, y, compiled_for)
    torch.testing.assert_close(y, wanted)
    assert compiled_for.item() == expected
