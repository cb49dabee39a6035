"""Clusters on a real device: kernels that only work where the cluster is there."""

from __future__ import annotations

import itertools

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

if torch.cuda.is_available() and torch.cuda.get_device_capability() < (9, 0):
    pytest.skip("the GPU has no clusters, which begin with sm_90", allow_module_level=True)

SOURCE = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void add_next(const float* x, float* y) {
  __shared__ float tile[128];
  cg::cluster_group cluster = cg::this_cluster();
  int i = blockIdx.x * 128 + threadIdx.x;
  tile[threadIdx.x] = x[i];
  cluster.sync();
  unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  y[i] = tile[threadIdx.x] + cluster.map_shared_rank(tile, next)[threadIdx.x];
  cluster.sync();
}

// What each block sees: the cluster's size, the block's place in it, the grid in blocks.
extern "C" __global__ void shape(int* out) {
  cg::cluster_group cluster = cg::this_cluster();
  dim3 size = cluster.dim_blocks(), place = cluster.block_index();
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int* row = out + block * 9;
  row[0] = size.x, row[1] = size.y, row[2] = size.z;
  row[3] = place.x, row[4] = place.y, row[5] = place.z;
  row[6] = gridDim.x, row[7] = gridDim.y, row[8] = gridDim.z;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) fixed(int* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = cg::this_cluster().num_blocks();
}
"""


@pytest.fixture(scope="module")
def mod():
    functions = {
        "add_next": tc.Launch(
            grid="x.numel // 128",
            block=128,
            cluster="size",
            params="const float* x, float* y, int size",
        ),
        "shape": tc.Launch(),
        "fixed": tc.Launch(grid="out.numel", block=32),
    }
    return tc.load_inline("gpu_clusters", SOURCE, functions=functions)


@pytest.mark.parametrize("size", [2, 16])
def test_a_block_reads_its_neighbour_s_shared_memory(mod, size):
    if size > mod.add_next.configure(cluster=2).occupancy().max_cluster_blocks:
        pytest.skip(f"the GPU has no clusters of {size}")
    x = torch.rand(64 * 128, device="cuda")
    y = torch.empty_like(x)
    mod.add_next(x, y, size)
    tiles = x.view(-1, size, 128)
    torch.testing.assert_close(y.view_as(tiles), tiles + tiles.roll(-1, dims=1))


def test_clusters_have_three_dimensions(mod):
    grid, cluster = (8, 8, 4), (4, 1, 2)
    out = torch.full((4, 8, 8, 9), -1, dtype=torch.int32, device="cuda")
    options = {"cluster": cluster, "cluster_scheduling_policy": "spread"}
    mod.shape.configure(grid=grid, block=32, **options)(out)
    for z, y, x in itertools.product(range(4), range(8), range(8)):
        place = (x % cluster[0], y % cluster[1], z % cluster[2])
        assert out[z, y, x].tolist() == [*cluster, *place, *grid]


def test_a_preferred_cluster_is_taken_where_the_device_can(mod):
    if torch.cuda.get_device_capability() < (10, 0):
        pytest.skip("the GPU has no preferred clusters, which begin with sm_100")
    out = torch.zeros(64, 9, dtype=torch.int32, device="cuda")
    mod.shape.configure(grid=64, block=32, cluster=2, preferred_cluster=4)(out)
    assert set(out[:, 0].tolist()) <= {2, 4}


def test_a_cluster_that_the_kernel_fixes(mod):
    out = torch.zeros(64, dtype=torch.int32, device="cuda")
    mod.fixed(out)
    assert out.tolist() == [2] * 64
    assert mod.fixed.occupancy().max_cluster_blocks == 2


def test_occupancy_is_torch_s(mod):
    properties = torch.cuda.get_device_properties(0)
    found = mod.shape[1, 1024].occupancy()
    assert found.threads_per_sm == properties.max_threads_per_multi_processor
    assert found.max_cooperative_blocks == found.blocks_per_sm * properties.multi_processor_count
    assert found.max_dynamic_smem_bytes <= properties.shared_memory_per_block_optin
    assert found.blocks_per_sm == found.threads_per_sm // 1024
    assert mod.shape[1, 32].configure(cluster=2).occupancy().max_active_clusters > 0
