"""A tiled matrix product: more than 48 KB of dynamic shared memory, with nothing to opt into."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

SOURCE = r"""
constexpr int kTile = 128, kDepth = 64, kEach = 8;  // 16 x 16 threads, 8 x 8 results each

extern "C" __global__ void __launch_bounds__(256)
matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  extern __shared__ float tiles[];
  // Rows of one element more than needed lie in different banks.
  float (*tile_a)[kDepth + 1] = reinterpret_cast<float (*)[kDepth + 1]>(tiles);  // kTile of them
  float (*tile_b)[kTile] = reinterpret_cast<float (*)[kTile]>(tile_a + kTile);  // kDepth of them
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  float sums[kEach][kEach] = {};
  for (int depth0 = 0; depth0 < k; depth0 += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth; i += 256) {
      const int row = row0 + i / kDepth, depth = depth0 + i % kDepth;
      tile_a[i / kDepth][i % kDepth] = row < m && depth < k ? a[row * k + depth] : 0;
    }
    for (int i = threadIdx.x; i < kTile * kDepth; i += 256) {
      const int depth = depth0 + i / kTile, column = column0 + i % kTile;
      tile_b[i / kTile][i % kTile] = depth < k && column < n ? b[depth * n + column] : 0;
    }
    __syncthreads();
    for (int d = 0; d < kDepth; ++d)
      for (int i = 0; i < kEach; ++i)
        for (int j = 0; j < kEach; ++j)
          sums[i][j] += tile_a[ty + 16 * i][d] * tile_b[d][tx + 16 * j];
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
            dynamic_smem_bytes=4 * (128 * 65 + 64 * 128),  # 64.5 KB
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

    for m, k, n in ((500, 300, 700), (128, 64, 128), (1, 1, 1)):
        a, b = torch.randn(m, k, device="cuda"), torch.randn(k, n, device="cuda")
        c = torch.empty(m, n, device="cuda")
        mod.matmul(a, b, c)
        torch.testing.assert_close(c, (a.double() @ b.double()).float(), rtol=1e-4, atol=1e-4)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
