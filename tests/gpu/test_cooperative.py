"""Cooperative launches on a real device: a grid-wide barrier, and grids that do not fit."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

SOURCE = r"""
#include <cooperative_groups.h>

// Rounds of: every block writes its number, all wait, every block reads that of the next one.
extern "C" __global__ void rotate(int* cells, int* out, int rounds) {
  auto grid = cooperative_groups::this_grid();
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) ((volatile int*)cells)[blockIdx.x] = blockIdx.x + round;
    grid.sync();
    sum += ((volatile int*)cells)[(blockIdx.x + 1) % gridDim.x];
    grid.sync();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
"""
ROUNDS = 10


@pytest.fixture(scope="module")
def mod():
    functions = {
        "rotate": tc.Launch(
            grid="cells.numel", block=256, cooperative=True, args={"rounds": str(ROUNDS)}
        ),
        "full": tc.Launch(
            kernel="rotate",
            grid="max_cooperative_blocks",
            block=256,
            cooperative=True,
            args={"rounds": str(ROUNDS)},
        ),
    }
    return tc.load_inline("gpu_cooperative", SOURCE, functions=functions)


def check(cells, out, blocks):
    number = torch.arange(1, blocks + 1) % blocks
    expected = (number * ROUNDS + ROUNDS * (ROUNDS - 1) // 2).to(torch.int32)
    torch.testing.assert_close(out.cpu()[:blocks], expected)
    assert (out[blocks:] == -1).all()


def memory(size):
    cells = torch.zeros(size, dtype=torch.int32, device="cuda")
    return cells, torch.full_like(cells, -1)


def test_the_largest_grid_that_fits_and_one_block_more(mod):
    most = mod.full.occupancy().max_cooperative_blocks
    cells, out = memory(most + 1)
    message = f"the cooperative grid has {most + 1} blocks, device 0 can hold {most} of this shape"
    with pytest.raises(tc.LaunchLimitError, match=message):
        mod.rotate(cells, out)
    assert (out == -1).all()
    mod.full(cells, out)
    check(cells, out, most)
