// An inclusive scan of any length: blocks, their totals, and what is added to each.
#include <cuda_runtime.h>

namespace scan {
enum { kBlock = 256 };

__device__ int warp_scan(int v) {
  for (int d = 1; d < 32; d <<= 1) {
    int other = __shfl_up_sync(0xffffffffu, v, d);
    if ((threadIdx.x & 31) >= d) v += other;
  }
  return v;
}

__device__ int block_scan(int v, int* totals) {
  v = warp_scan(v);
  if ((threadIdx.x & 31) == 31) totals[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    int t = threadIdx.x < kBlock / 32 ? totals[threadIdx.x] : 0;
    t = warp_scan(t);
    if (threadIdx.x < kBlock / 32) totals[threadIdx.x] = t;
  }
  __syncthreads();
  return v + (threadIdx.x >= 32 ? totals[(threadIdx.x >> 5) - 1] : 0);
}

__global__ void blocks(const int* x, int* y, int* sums, int n) {
  __shared__ int totals[kBlock / 32];
  int i = blockIdx.x * kBlock + threadIdx.x;
  int v = block_scan(i < n ? x[i] : 0, totals);
  if (i < n) y[i] = v;
  if (threadIdx.x == kBlock - 1) sums[blockIdx.x] = v;
}

__global__ void totals(int* sums, int n) {
  __shared__ int totals[kBlock / 32];
  int v = block_scan(threadIdx.x < n ? sums[threadIdx.x] : 0, totals);
  if (threadIdx.x < n) sums[threadIdx.x] = v;
}

__global__ void add(int* y, const int* sums, int n) {
  int i = (blockIdx.x + 1) * kBlock + threadIdx.x;
  if (i < n) y[i] += sums[blockIdx.x];
}
}  // namespace scan

void inclusive_scan(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView sums) {
  const int n = static_cast<int>(x.numel());
  const int num_blocks = (n + scan::kBlock - 1) / scan::kBlock;
  TVM_FFI_ICHECK(num_blocks <= scan::kBlock && sums.numel() >= num_blocks);
  auto stream = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  int *out = (int*)y.data_ptr(), *space = (int*)sums.data_ptr();
  using namespace scan;
  blocks<<<num_blocks, kBlock, 0, stream>>>((const int*)x.data_ptr(), out, space, n);
  if (num_blocks == 1) return;
  totals<<<1, kBlock, 0, stream>>>(space, num_blocks);
  scan::add<<<num_blocks - 1, kBlock, 0, stream>>>(out, space, n);
}
