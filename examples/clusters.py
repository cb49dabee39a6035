"""Clusters: each block reads the shared memory of its neighbour; sizes up to the largest."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

mod = tc.load_inline(
    "clusters",
    cuda_sources=r"""
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;

    // Adds to each tile of 128 the tile of the next block of the cluster, the last to the first.
    __global__ void add_next(const float* x, float* y) {
      __shared__ float tile[128];
      cg::cluster_group cluster = cg::this_cluster();
      int i = blockIdx.x * 128 + threadIdx.x;
      tile[threadIdx.x] = x[i];
      cluster.sync();
      unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
      y[i] = tile[threadIdx.x] + cluster.map_shared_rank(tile, next)[threadIdx.x];
      cluster.sync();  // no block ends while others read its shared memory
    }""",
    functions={
        "add_next": tc.Launch(
            grid="x.numel // 128",  # blocks, not clusters
            block=128,
            cluster="size",
            params="const float* x, float* y, int size",
        )
    },
    arch=arch(),
)


def main() -> None:
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    if torch.cuda.get_device_capability() < (9, 0):
        print("built, not launched: the GPU has no clusters, which begin with sm_90")
        return
    x = torch.rand(64 * 128, device="cuda")
    y = torch.empty_like(x)
    found = mod.add_next.configure(cluster=2).occupancy()
    largest = found.max_cluster_blocks  # 16 on an H100 or H200
    size = 2
    while size <= largest:  # more than 8 are not portable: opted into by itself
        mod.add_next(x, y, size)
        tiles = x.view(-1, size, 128)
        torch.testing.assert_close(y.view_as(tiles), tiles + tiles.roll(-1, dims=1))
        size *= 2
    mod.add_next.configure(cluster=1)(x, y, size)  # at the call: each block by itself
    torch.testing.assert_close(y, x + x)
    print(f"launched with clusters of up to {largest}: the numbers are torch's")


if __name__ == "__main__":
    main()
