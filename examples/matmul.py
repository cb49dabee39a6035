"""A tiled matrix product that keeps 64 KB of tiles in dynamic shared memory."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

SOURCE = r"""
constexpr int kTile = 128, kDepth = 64, kEach = 8;  // 16 x 16 threads, 8 x 8 results each

extern "C" __global__ void __launch_bounds__(256)
matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  extern __shared__ float tiles[];
  float (*tile_a)[kTile] = reinterpret_cast<float (*)[kTile]>(tiles);  // [kDepth][kTile]
  float (*tile_b)[kTile] = tile_a + kDepth;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  float sums[kEach][kEach] = {};
  for (int depth0 = 0; depth0 < k; depth0 += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth; i += 256) {
      const int row = row0 + i / kDepth, depth = depth0 + i % kDepth;
      tile_a[i % kDepth][i / kDepth] = row < m && depth < k ? a[row * k + depth] : 0;
    }
    for (int i = threadIdx.x; i < kTile * kDepth; i += 256) {
      const int depth = depth0 + i / kTile, column = column0 + i % kTile;
      tile_b[i / kTile][i % kTile] = depth < k && column < n ? b[depth * n + column] : 0;
    }
    __syncthreads();
    for (int d = 0; d < kDepth; ++d)
      for (int i = 0; i < kEach; ++i)
        for (int j = 0; j < kEach; ++j)
          sums[i][j] += tile_a[d][ty + 16 * i] * tile_b[d][tx + 16 * j];
    __syncthreads();
  }
  for (int i = 0; i < kEach; ++i)
    for (int j = 0; j < kEach; ++j) {
      const int row = row0 + ty + 16 * i, column = column0 + tx + 16 * j;
      if (row < m && column < n) c[row * n + column] = sums[i][j];
    }
}
"""

# [docs:build]
mod = tc.load_inline(
    "matmul",
    cuda_sources=SOURCE,
    functions={
        "matmul": tc.Launch(
            grid=("ceil_div(b.shape[1], 128)", "ceil_div(a.shape[0], 128)"),
            block=256,
            dynamic_smem_bytes=2 * 128 * 64 * 4,
            args={"m": "a.shape[0]", "n": "b.shape[1]", "k": "a.shape[1]"},
        ),
    },
    arch=arch(),  # [docs:skip]
)
# [docs:end]


def main() -> None:
    print(mod.matmul.signature)
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    a, b = torch.randn(500, 300, device="cuda"), torch.randn(300, 700, device="cuda")
    c = torch.empty(500, 700, device="cuda")
    mod.matmul(a, b, c)
    torch.testing.assert_close(c, (a.double() @ b.double()).float(), rtol=1e-4, atol=1e-4)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
