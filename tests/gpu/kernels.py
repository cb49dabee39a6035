"""CUDA sources of the GPU tests: the kernels that people write first."""

SAXPY = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
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
