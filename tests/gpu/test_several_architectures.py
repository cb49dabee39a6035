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
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void newer(float* y) { y[threadIdx.x] = 9; }
#else
extern "C" __global__ void older(float* y) { y[threadIdx.x] = 8; }
#endif
"""
FUNCTIONS = {
    "add": tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"}),
}


@pytest.fixture(autouse=True)
def _hopper() -> None:
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("these tests know what a device of 9.0 takes")


def compiled_for(mod: tc.Module) -> int:
    """Launch, check the sums, and return what the kernel says that it was compiled for."""
    x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    expected, answer = x + y, torch.zeros(1, dtype=torch.int32, device="cuda")
    mod.add(x, y, answer)
    torch.testing.assert_close(y, expected)
    return int(answer.item())


def load(arch, **options) -> tc.Module:
    options = {"functions": FUNCTIONS, **options}
    return tc.load_inline("gpu_several", SOURCE, arch=arch, **options)


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
    assert compiled_for(load(arch)) == expected


def test_a_kernel_that_the_devices_member_lacks_says_which_have_it():
    shape = tc.Launch(grid=1, block=32)
    mod = load(["sm_80", "sm_90a"], functions={"newer": shape, "older": shape})
    y = torch.zeros(32, device="cuda")
    mod.newer(y)
    assert y.tolist() == [9.0] * 32
    with pytest.raises(tc.LaunchError, match="The image has it for sm_80 alone"):
        mod.older(y)
    mod.newer(y)
