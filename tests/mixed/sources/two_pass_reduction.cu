// A reduction in two kernels; the partial sums are a tensor of the caller's allocator.
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>

namespace ffi = tvm::ffi;

template <unsigned kBlock>
__device__ void reduce_block(volatile float* shared, unsigned tid) {
  for (unsigned half = kBlock / 2; half > 0; half >>= 1) {
    if (tid < half) shared[tid] += shared[tid + half];
    __syncthreads();
  }
}

template <unsigned kBlock>
__global__ void reduce(const float* __restrict__ in, float* __restrict__ out, size_t n) {
  __shared__ float shared[kBlock];
  float sum = 0;
  for (size_t i = blockIdx.x * kBlock + threadIdx.x; i < n; i += kBlock * gridDim.x) sum += in[i];
  shared[threadIdx.x] = sum;
  __syncthreads();
  reduce_block<kBlock>(shared, threadIdx.x);
  if (threadIdx.x == 0) out[blockIdx.x] = shared[0];
}

void sum(ffi::TensorView x, ffi::TensorView out) {
  const int64_t blocks = 8;
  ffi::Tensor partial =
      ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, {blocks * 4}, DLDataType{kDLUInt, 8, 1}, x.device());
  auto* sums = static_cast<float*>(partial.data_ptr());
  auto stream = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  reduce<256><<<blocks, 256, 0, stream>>>((const float*)x.data_ptr(), sums, x.numel());
  reduce<32><<<1, 32, 0, stream>>>(sums, (float*)out.data_ptr(), blocks);
}
