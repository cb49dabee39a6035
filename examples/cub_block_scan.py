"""CUB in a kernel: cumulative sums along rows of any length, eight items a thread."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

SOURCE = r"""
#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

constexpr int kThreads = 128, kItems = 8, kTile = kThreads * kItems;

struct Carry {  // what the tiles before sum up to; CUB asks for it once a tile
  float sum = 0;
  __device__ float operator()(float tile_sum) {
    const float before = sum;
    sum += tile_sum;
    return before;
  }
};

extern "C" __global__ void __launch_bounds__(kThreads)
cumsum(const float* x, float* y, int columns) {
  using Load = cub::BlockLoad<float, kThreads, kItems, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Scan = cub::BlockScan<float, kThreads>;
  using Store = cub::BlockStore<float, kThreads, kItems, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Scan::TempStorage scan;
    typename Store::TempStorage store;
  } shared;
  x += static_cast<long long>(blockIdx.x) * columns;
  y += static_cast<long long>(blockIdx.x) * columns;
  Carry carry;
  for (int left = columns; left > 0; left -= kTile, x += kTile, y += kTile) {
    float items[kItems];
    Load(shared.load).Load(x, items, min(left, kTile), 0.0f);
    __syncthreads();  // between any two uses of the shared memory
    Scan(shared.scan).InclusiveSum(items, items, carry);
    __syncthreads();
    Store(shared.store).Store(y, items, min(left, kTile));
    __syncthreads();
  }
}
"""

# [docs:build]
mod = tc.load_inline(
    "cub_block_scan",
    cuda_sources=SOURCE,
    functions={
        "cumsum": tc.Launch(grid="x.shape[0]", block=128, args={"columns": "x.shape[1]"}),
    },
    arch=arch(),  # [docs:skip]
)
# [docs:end]


def main() -> None:
    print(mod.cumsum.signature)
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    for columns in (1, 1000, 1024, 50_001):
        x = torch.rand(64, columns, device="cuda")
        y = torch.empty_like(x)
        mod.cumsum(x, y)
        torch.testing.assert_close(y, x.double().cumsum(dim=1).float(), rtol=1e-5, atol=0)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
