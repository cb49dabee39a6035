// Copies to shared memory that run beside the threads, and their barriers, by CUDA's own headers.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline.h>
#include <stdint.h>

namespace cg = cooperative_groups;

constexpr int kBlock = 64;

// Each block's part of x turned round.
__global__ void turned_by_pipeline(const float* x, float* y) {
  __shared__ float part[kBlock];
  const unsigned at = blockIdx.x * kBlock + threadIdx.x;
  __pipeline_memcpy_async(&part[threadIdx.x], &x[at], sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  y[at] = part[kBlock - 1 - threadIdx.x];
}

__global__ void turned_by_group(const float* x, float* y) {
  __shared__ float part[kBlock];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, part, x + blockIdx.x * kBlock, sizeof(part));
  cg::wait(block);
  y[blockIdx.x * kBlock + threadIdx.x] = part[kBlock - 1 - threadIdx.x];
}

__global__ void turned_by_barrier(const float* x, float* y, uint64_t* most) {
  __shared__ __mbarrier_t barrier;
  __shared__ float part[kBlock];
  uint64_t* const place = &barrier;  // the same type as with nvcc
  if (threadIdx.x == 0) __mbarrier_init(place, kBlock);
  __syncthreads();
  part[threadIdx.x] = x[blockIdx.x * kBlock + threadIdx.x];
  const uint64_t token = __mbarrier_arrive(place);
  while (!__mbarrier_test_wait(place, token)) {
  }
  y[blockIdx.x * kBlock + threadIdx.x] = part[kBlock - 1 - threadIdx.x];
  if (threadIdx.x == 0 && blockIdx.x == 0) *most = __mbarrier_maximum_count();
}

void turn(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView most, int way) {
  const unsigned blocks = static_cast<unsigned>(x.numel() / kBlock);
  auto* from = static_cast<const float*>(x.data_ptr());
  auto* to = static_cast<float*>(y.data_ptr());
  auto stream = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  if (way == 0) turned_by_pipeline<<<blocks, kBlock, 0, stream>>>(from, to);
  if (way == 1) turned_by_group<<<blocks, kBlock, 0, stream>>>(from, to);
  if (way == 2)
    turned_by_barrier<<<blocks, kBlock, 0, stream>>>(from, to,
                                                     static_cast<uint64_t*>(most.data_ptr()));
}
