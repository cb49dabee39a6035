// A cooperative launch whose blocks wait for one another, as many of them as fit at once.
#include <cooperative_groups.h>

#include <algorithm>

__global__ void normalise(float* x, float* partial, int n) {
  namespace cg = cooperative_groups;
  cg::grid_group grid = cg::this_grid();
  __shared__ float sums[128];
  float sum = 0.f;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
  grid.sync();
  float total = 0.f;
  for (int b = 0; b < gridDim.x; ++b) total += partial[b];
  for (int i = grid.thread_rank(); i < n; i += grid.size()) x[i] /= total;
}

int64_t normalised(tvm::ffi::TensorView x, tvm::ffi::TensorView partial) {
  const int block = 128;
  int device = x.device().device_id, per_sm = 0, sms = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, normalise, block, 0);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  int grid = 0, most = 0;
  cudaOccupancyMaxPotentialBlockSize(&grid, &most, normalise);
  TVM_FFI_ICHECK(per_sm > 0 && grid > 0 && most >= block);
  int blocks = std::min<int>({per_sm * sms, static_cast<int>(partial.numel()), 16});
  float* data = static_cast<float*>(x.data_ptr());
  float* space = static_cast<float*>(partial.data_ptr());
  int n = static_cast<int>(x.numel());
  void* args[] = {&data, &space, &n};
  cudaStream_t stream = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, device);
  cudaError_t error =
      cudaLaunchCooperativeKernel((void*)normalise, dim3(blocks), dim3(block), args, 0, stream);
  TVM_FFI_CHECK(error == cudaSuccess, RuntimeError) << cudaGetErrorString(error);
  return blocks;
}
