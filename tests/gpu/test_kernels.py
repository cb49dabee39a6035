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


def test_block_reduction(randn):
    launch = tc.Launch(grid="ceil_div(x.numel, 1024)", block=256, args={"n": "x.numel"})
    mod = tc.load_inline("gpu_sum", kernels.BLOCK_SUM, functions={"block_sum": launch})
    x, total = randn(1 << 20), torch.zeros(1, device="cuda")
    mod.block_sum(x, total)
    torch.testing.assert_close(total[0].double(), x.double().sum(), rtol=1e-4, atol=1e-2)


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


@pytest.mark.parametrize("shape", [(64, 64, 128), (200, 300, 500)])
def test_tiled_matmul_with_64_kb_of_shared_memory(randn, shape):
    m, n, k = shape
    launch = tc.Launch(
        grid=("ceil_div(b.shape[1], 64)", "ceil_div(a.shape[0], 64)"),
        block=256,
        dynamic_smem_bytes=2 * 64 * 128 * 4,
        args={"m": "a.shape[0]", "n": "b.shape[1]", "k": "a.shape[1]"},
    )
    mod = tc.load_inline("gpu_matmul", kernels.MATMUL, functions={"matmul": launch})
    a, b = randn(m, k), randn(k, n)
    c = torch.full((m, n), float("nan"), device="cuda")
    mod.matmul(a, b, c)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("cuda_type", "dtype"),
    [("__half", torch.float16), ("__nv_bfloat16", torch.bfloat16), ("double", torch.float64)],
)
def test_a_template_in_several_types(randn, cuda_type, dtype):
    launch = tc.Launch(
        grid="ceil_div(x.numel, 1024)",
        block=256,
        args={"n": "x.numel"},
        kernel=f"scale<{cuda_type}, 4>",
    )
    mod = tc.load_inline("gpu_scale", kernels.SCALE, functions={"scale": launch})
    x = randn(10_001, dtype=dtype)
    y = torch.empty_like(x)
    mod.scale(x, y, 1.5)
    torch.testing.assert_close(y, x * 1.5)


def test_pinned_and_managed_host_memory_are_accepted(randn):
    mod = tc.load_inline("gpu_saxpy_bare", kernels.SAXPY)
    x = torch.arange(10, dtype=torch.float32).pin_memory()
    y = torch.zeros(10, device="cuda")
    mod.saxpy[1, 32](2.0, x, y, 10)
    torch.testing.assert_close(y.cpu(), 2 * x)
    with pytest.raises(ValueError, match="cpu"):
        mod.saxpy[1, 32](2.0, torch.zeros(10), y, 10)
