"""Scratch memory on a real device: nobody else writes it while a launch uses it."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

# Each block leaves a mark in its own part, waits, and says whether the mark is still there.
SOURCE = r"""
extern "C" __global__ void mark(int* wrong, int* scratch, int id, long long cycles) {
  int* own = scratch + blockIdx.x * 256 + threadIdx.x;
  *own = id + threadIdx.x;
  for (long long start = clock64(); clock64() - start < cycles;) {}
  __threadfence();
  if (*(volatile int*)own != id + (int)threadIdx.x) atomicAdd(wrong, 1);
}
"""
BLOCKS = 64
SCRATCH = {"scratch": tc.Scratch(bytes_per_block=1024)}
CYCLES = 200_000


@pytest.fixture(scope="module")
def module():
    shape = {"grid": BLOCKS, "block": 256, "args": SCRATCH}
    functions = {
        "mark": tc.Launch(**shape),
        "twice": [tc.Launch(kernel="mark", **shape), tc.Launch(kernel="mark", **shape)],
        "early": tc.Launch(kernel="mark", programmatic_dependent_launch=True, **shape),
    }
    return tc.load_inline("gpu_scratch", SOURCE, functions=functions)


@pytest.fixture
def wrong():
    return torch.zeros(1, dtype=torch.int32, device="cuda")


def disturb():
    """Write over whatever memory of that size torch has free."""
    torch.full((BLOCKS * 256,), -1, dtype=torch.int32, device="cuda")


@pytest.mark.parametrize("name", ["mark", "twice", "early"])
def test_launches_in_a_row_never_share_memory_and_give_it_back(module, wrong, name):
    before = torch.cuda.memory_allocated()
    for step in range(50):
        module[name](wrong, 1000 * step, CYCLES)
        disturb()
    assert wrong.item() == 0
    assert torch.cuda.memory_allocated() == before


def test_a_side_stream_is_not_disturbed_by_the_current_one(module, wrong):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    for step in range(50):
        module.mark.on(side)(wrong, 1000 * step, CYCLES)
        disturb()
    side.synchronize()
    assert wrong.item() == 0


def test_a_graph_has_the_memory_at_every_replay(module, wrong):
    module.mark(wrong, 1, 0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        module.mark(wrong, 7, CYCLES)
        module.twice(wrong, 9, CYCLES)
    for _ in range(20):
        graph.replay()
        disturb()
    assert wrong.item() == 0
