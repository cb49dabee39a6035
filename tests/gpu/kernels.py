"""CUDA sources of the GPU tests: the kernels that people write first."""

SAXPY = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""

BLOCK_SUM = r"""
// Sums 1024 elements a block in static shared memory, then adds up the blocks atomically.
extern "C" __global__ void block_sum(const float* x, float* total, int n) {
  __shared__ float partial[256];
  float sum = 0;
  for (int i = blockIdx.x * 1024 + threadIdx.x; i < min(n, (int)(blockIdx.x + 1) * 1024); i += 256)
    sum += x[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(total, partial[0]);
}
"""

SOFTMAX = r"""
// One block a row; the row stays in dynamic shared memory between the three passes.
extern "C" __global__ void softmax(const float* x, float* y, int columns) {
  extern __shared__ float row[];
  __shared__ float warps[8];
  const float* in = x + (size_t)blockIdx.x * columns;
  float most = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < columns; i += 256) most = fmaxf(most, row[i] = in[i]);
  for (int k = 16; k; k /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, k));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = most;
  __syncthreads();
  for (int w = 0; w < 8; ++w) most = fmaxf(most, warps[w]);
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += 256) sum += row[i] = __expf(row[i] - most);
  for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < 8; ++w) sum += warps[w];
  float* out = y + (size_t)blockIdx.x * columns;
  for (int i = threadIdx.x; i < columns; i += 256) out[i] = row[i] / sum;
}
"""

MATMUL = r"""
// 64x64 tiles over the whole depth of 128 at once: 2 * 64 * 128 floats are 64 KB of shared memory.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  extern __shared__ float shared[];
  float* tile_a = shared;             // [64][128]
  float* tile_b = shared + 64 * 128;  // [128][64]
  const int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
  float sums[4][4] = {};
  for (int k0 = 0; k0 < k; k0 += 128) {
    for (int i = threadIdx.x; i < 64 * 128; i += 256) {
      int r = row0 + i / 128, q = k0 + i % 128;
      tile_a[i] = r < m && q < k ? a[(size_t)r * k + q] : 0;
      int p = k0 + i / 64, s = column0 + i % 64;
      tile_b[i] = p < k && s < n ? b[(size_t)p * n + s] : 0;
    }
    __syncthreads();
    for (int q = 0; q < 128; ++q)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
          sums[i][j] += tile_a[(threadIdx.x / 16 + 16 * i) * 128 + q] *
                        tile_b[q * 64 + threadIdx.x % 16 + 16 * j];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      int r = row0 + threadIdx.x / 16 + 16 * i, s = column0 + threadIdx.x % 16 + 16 * j;
      if (r < m && s < n) c[(size_t)r * n + s] = sums[i][j];
    }
}
"""

SCALE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
template <typename T, int kPerThread>
__global__ void scale(const T* x, T* y, T factor, int n) {
  int begin = (blockIdx.x * blockDim.x + threadIdx.x) * kPerThread;
  for (int i = begin; i < min(begin + kPerThread, n); ++i) y[i] = x[i] * factor;
}
"""
