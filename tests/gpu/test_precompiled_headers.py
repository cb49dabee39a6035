"""Kernels compiled with NVRTC's precompiled headers compute what those compiled without do."""

from __future__ import annotations

import logging

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

SOURCE = r"""
#include <cub/block/block_scan.cuh>

constexpr int kThreads = 256;
extern "C" __global__ void __launch_bounds__(kThreads) scan(const int* x, int* y) {
  using Scan = cub::BlockScan<int, kThreads>;
  __shared__ typename Scan::TempStorage scan;
  const int i = blockIdx.x * kThreads + threadIdx.x;
  int value = x[i];
  Scan(scan).InclusiveSum(value, value);
  y[i] = value;
}
"""
EDITED = SOURCE.replace("InclusiveSum", "ExclusiveSum")


def scanned(source: str, x: torch.Tensor, **options) -> torch.Tensor:
    """Return what a source's kernel computes: sums along blocks of 256."""
    # The macro makes these headers this test's own: no test before it has them precompiled.
    mod = tc.load_inline(
        "gpu_pch",
        source,
        functions={"scan": tc.Launch(grid="x.numel // 256", block=256)},
        extra_cuda_cflags=["-DGPU_TEST_OF_PRECOMPILED_HEADERS"],
        **options,
    )
    y = torch.full_like(x, -1)
    mod.scan(x, y)
    return y


@pytest.mark.skipif(nvrtc.version() < (12, 8), reason="needs NVRTC 12.8 or newer")
def test_an_edited_kernel_of_cub_computes_the_same_with_the_headers_precompiled(caplog):
    caplog.set_level(logging.DEBUG, "tvmffi_cubin")

    def said() -> list[str]:
        words = [r.args[0] for r in caplog.records if "precompiled header for" in r.msg]
        caplog.clear()
        return words

    generator = torch.Generator(device="cuda").manual_seed(0)
    x = torch.randint(-1000, 1000, (40, 256), generator=generator, device="cuda", dtype=torch.int32)
    along = x.cumsum(1, dtype=torch.int32)
    torch.testing.assert_close(scanned(SOURCE, x), along)
    assert said() == ["made"]
    torch.testing.assert_close(scanned(EDITED, x), along - x)
    assert said() == ["used"]
    torch.testing.assert_close(scanned(EDITED, x, use_pch=False), along - x)
    assert said() == []
