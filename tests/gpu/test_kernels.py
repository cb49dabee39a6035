"""Real kernels on a real device, against torch's results."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

from . import kernels

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")


@pytest.fixture
def randn():
    generator = torch.Generator(device="cuda").manual_seed(0)

    def make(*shape: int, dtype=torch.float32):
        return torch.randn(*shape, generator=generator, device="cuda", dtype=dtype)

    return make


@pytest.mark.parametrize("n", [1, 255, 256, 257, 1_000_003])
def test_saxpy_with_its_length_computed(randn, n):
    launch = tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"})
    mod = tc.load_inline("gpu_saxpy", kernels.SAXPY, functions={"saxpy": launch})
    x, y = randn(n), randn(n)
    expected = 2.5 * x + y
    mod.saxpy(2.5, x, y)
    torch.testing.assert_close(y, expected)


@pytest.mark.parametrize("columns", [1, 1000, 4096, 50_000])
def test_fused_softmax_up_to_200_kb_of_shared_memory(randn, columns):
    launch = tc.Launch(
        grid="x.shape[0]",
        block=256,
        dynamic_smem_bytes="x.shape[1] * 4",
        args={"columns": "x.shape[1]"},
    )
    mod = tc.load_inline("gpu_softmax", kernels.SOFTMAX, functions={"softmax": launch})
    x = randn(33, columns)
    y = torch.full_like(x, float("nan"))
    mod.softmax(x, y)
    torch.testing.assert_close(y, torch.softmax(x, 1), rtol=1e-4, atol=1e-6)


def test_pinned_and_managed_host_memory_are_accepted(randn):
    mod = tc.load_inline("gpu_saxpy_bare", kernels.SAXPY)
    x = torch.arange(10, dtype=torch.float32).pin_memory()
    y = torch.zeros(10, device="cuda")
    mod.saxpy[1, 32](2.0, x, y, 10)
    torch.testing.assert_close(y.cpu(), 2 * x)
    with pytest.raises(ValueError, match="cpu"):
        mod.saxpy[1, 32](2.0, torch.zeros(10), y, 10)
