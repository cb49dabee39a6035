"""Launches from C++ on a real device, by kernels that only work with what the launch carries."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from launch_setters import rows

import tvmffi_cubin as tc

from .cpp_launches import KERNELS, WRAPPER

torch = pytest.importorskip("torch", reason="the GPU tests use torch's tensors, it is missing")

CPP = Path(__file__).parents[1] / "cpp"


@pytest.fixture(scope="module")
def launches():
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("clusters and dependent launches need a device of 9.0 or newer")
    return tc.load_inline("gpu_cpp_launches", [KERNELS, WRAPPER], extra_include_paths=[CPP])


def zeros(count: int):
    return torch.zeros(count, dtype=torch.int32, device="cuda")


def next_in_cluster(grid: tuple[int, ...], cluster: tuple[int, ...]) -> list[int]:
    """For each block, by its number, the number of the next one in its cluster."""
    blocks = list(itertools.product(*(range(size) for size in reversed(grid))))
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, block in enumerate(blocks):
        key = tuple(i // size for i, size in zip(block, reversed(cluster), strict=True))
        groups.setdefault(key, []).append(number)
    following = {}
    for group in groups.values():
        following |= dict(zip(group, [*group[1:], group[0]], strict=True))
    return [following[number] for number in range(len(blocks))]


@pytest.mark.parametrize(
    ("grid", "cluster"),
    [
        ((32, 1, 1), (2, 1, 1)),
        ((32, 1, 1), (16, 1, 1)),
        ((8, 4, 2), (4, 2, 2)),
        ((3, 10, 1), (1, 5, 1)),
    ],
)
def test_blocks_of_a_cluster_read_their_neighbour(launches, grid, cluster):
    y = zeros(grid[0] * grid[1] * grid[2])
    launches.run("ring", rows([("grid", grid), ("cluster", cluster)]), y)
    assert y.tolist() == next_in_cluster(grid, cluster)


def test_a_cluster_that_the_kernel_fixes_at_16_launches_first_in_a_graph(launches):
    # A module of its own: of the other one the driver has the kernel opted in already.
    fresh = tc.load_inline("gpu_cpp_first", [KERNELS, WRAPPER], extra_include_paths=[CPP])
    y, graph = zeros(64), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        fresh.run("wide", rows([("grid", (64, 1, 1))]), y)
    graph.replay()
    assert y.tolist() == next_in_cluster((64, 1, 1), (16, 1, 1))


@pytest.mark.parametrize("cluster", [2, 16])
def test_the_guide_s_launcher_has_clusters_too(launches, cluster):
    y = zeros(32)
    launches.run_guide(y, 32, cluster)
    assert y.tolist() == next_in_cluster((32, 1, 1), (cluster, 1, 1))


@pytest.mark.parametrize("cluster", [None, 2])
def test_a_cooperative_grid_of_the_largest_size_synchronizes(launches, cluster):
    extra = [("cluster", (cluster, 1, 1))] if cluster else []
    shape = [("block", (128, 1, 1)), ("cooperative", (1,)), *extra]
    most = launches.occupancy("grid_sum", rows(shape), 0)[1]
    assert most >= torch.cuda.get_device_properties(0).multi_processor_count
    y = zeros(1 + most)
    launches.run("grid_sum", rows([*shape, ("grid", (most, 1, 1))]), y)
    assert set(y.tolist()) == {most * (most + 1) // 2}
    with pytest.raises(tc.LaunchLimitError, match=rf"can hold {most} of this shape"):
        launches.run("grid_sum", rows([*shape, ("grid", (most + 2, 1, 1))]), y)


@pytest.mark.parametrize(
    ("setters", "message"),
    [
        (
            [("grid", (10, 1, 1)), ("cluster", (4, 1, 1))],
            r"grid.x is 10, wanted a multiple of cl.*, 4",
        ),
        ([("grid", (64, 1, 1)), ("cluster", (32, 1, 1))], r"cluster has 32 blocks, device 0 allow"),
        ([("block", (64, 32, 1))], r"the block has 2048 threads, .* allows 1024"),
        ([("grid", (1, 65536, 1))], r"grid.y is 65536, device 0 allows 65535"),
        ([("dynamic_smem_bytes", (300_000,))], r"dynamic_smem_bytes is 300000, device 0 allows"),
    ],
)
def test_a_refused_launch_tells_its_limit(launches, setters, message):
    with pytest.raises(tc.LaunchLimitError, match="launch of ring: .*" + message):
        launches.run("ring", rows(setters), zeros(64))
    # The device is as good as before.
    y = zeros(2)
    launches.run("ring", rows([("grid", (2, 1, 1)), ("cluster", (2, 1, 1))]), y)
    assert y.tolist() == [1, 0]
