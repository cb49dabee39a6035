"""Memory on a real device: shared, all that there is, and pinned."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

from . import kernels

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")


def test_all_of_the_shared_memory_can_be_asked_for():
    limit = torch.cuda.get_device_properties(0).shared_memory_per_block_optin
    mod = tc.load_inline("gpu_bare", kernels.SAXPY)
    x = torch.ones(8, device="cuda")
    mod.saxpy[1, 8, limit](0.0, x, x, 8)
    torch.cuda.synchronize()
    with pytest.raises(tc.LaunchLimitError, match=str(limit)):
        mod.saxpy[1, 8, limit + 1](0.0, x, x, 8)


def test_fused_softmax_in_200_kb_of_shared_memory():
    launch = tc.Launch(
        grid="x.shape[0]",
        block=256,
        dynamic_smem_bytes="x.shape[1] * 4",
        args={"columns": "x.shape[1]"},
    )
    mod = tc.load_inline("gpu_softmax", kernels.SOFTMAX, functions={"softmax": launch})
    x = torch.randn(33, 50_000, device="cuda")
    y = torch.full_like(x, float("nan"))
    mod.softmax(x, y)
    torch.testing.assert_close(y, torch.softmax(x, 1), rtol=1e-4, atol=1e-6)


def test_pinned_host_memory_is_accepted():
    mod = tc.load_inline("gpu_bare", kernels.SAXPY)
    x = torch.arange(10, dtype=torch.float32).pin_memory()
    y = torch.zeros(10, device="cuda")
    mod.saxpy[1, 32](2.0, x, y, 10)
    torch.testing.assert_close(y.cpu(), 2 * x)
