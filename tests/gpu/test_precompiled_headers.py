"""Kernels compiled with NVRTC's precompiled headers compute what those compiled without do."""

from __future__ import annotations

import logging

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin.cuda import program
from tvmffi_cubin.cuda.libraries import find_cuda

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

THREADS = 256
SOURCE = r"""
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>

constexpr int kThreads = 256;
extern "C" __global__ void __launch_bounds__(kThreads)
scan(const int* x, int* y, int* sums, int n) {
  using Scan = cub::BlockScan<int, kThreads>;
  using Reduce = cub::WarpReduce<int>;
  __shared__ typename Scan::TempStorage scan;
  __shared__ typename Reduce::TempStorage reduce[kThreads / 32];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  int value = i < n ? x[i] : 0;
  const int sum = Reduce(reduce[threadIdx.x / 32]).Sum(value);
  if (threadIdx.x % 32 == 0) sums[i / 32] = sum;
  Scan(scan).InclusiveSum(value, value);
  if (i < n) y[i] = value;
}
"""
EDITED = SOURCE.replace("InclusiveSum", "ExclusiveSum").replace("= sum;", "= 10 * sum;")


def scanned(source: str, x: torch.Tensor, **options) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what a source's kernel computes: sums along its blocks, and those of its warps."""
    blocks = -(-x.numel() // THREADS)
    launch = tc.Launch(grid="ceil_div(x.numel, 256)", block=THREADS, args={"n": "x.numel"})
    # The macro makes these headers this test's own: no test before it has them precompiled.
    mod = tc.load_inline(
        "gpu_pch",
        source,
        functions={"scan": launch},
        extra_cuda_cflags=["-DGPU_TEST_OF_PRECOMPILED_HEADERS"],
        **options,
    )
    y = torch.full_like(x, -1)
    sums = torch.full((blocks * THREADS // 32,), -1, dtype=torch.int32, device="cuda")
    mod.scan(x, y, sums)
    return y, sums


def expected(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the inclusive sums along blocks of 256, and the sums of each 32."""
    blocks = -(-x.numel() // THREADS)
    padded = torch.zeros(blocks * THREADS, dtype=torch.int32, device="cuda")
    padded[: x.numel()] = x
    along = padded.view(blocks, THREADS).cumsum(1, dtype=torch.int32).flatten()[: x.numel()]
    return along, padded.view(-1, 32).sum(1, dtype=torch.int32)


@pytest.mark.skipif(not program.load(find_cuda().nvrtc).has_pch, reason="needs NVRTC 12.8 or newer")
def test_an_edited_kernel_of_cub_computes_the_same_with_the_headers_precompiled(caplog):
    caplog.set_level(logging.DEBUG, "tvmffi_cubin")

    def said() -> list[str]:
        words = [r.args[0] for r in caplog.records if "precompiled header for" in r.msg]
        caplog.clear()
        return words

    generator = torch.Generator(device="cuda").manual_seed(0)
    x = torch.randint(-1000, 1000, (10_001,), generator=generator, device="cuda", dtype=torch.int32)
    along, of_warps = expected(x)

    y, sums = scanned(SOURCE, x)
    assert said() == ["made"]
    torch.testing.assert_close(y, along, rtol=0, atol=0)
    torch.testing.assert_close(sums, of_warps, rtol=0, atol=0)

    y, sums = scanned(EDITED, x)
    assert said() == ["used"]
    torch.testing.assert_close(y, along - x, rtol=0, atol=0)
    torch.testing.assert_close(sums, 10 * of_warps, rtol=0, atol=0)

    without = scanned(EDITED, x, use_pch=False)
    assert said() == []
    torch.testing.assert_close(without, (y, sums), rtol=0, atol=0)
