// Launch shapes from the occupancy calls, by a kernel, an instance and a pointer to one.
#include <algorithm>

template <typename T>
__global__ void __launch_bounds__(256, 2) add_one(T* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] += T(1);
}

__global__ void uses_shared(float* x, int n) {
  extern __shared__ float kept[];
  kept[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : 0.f;
  __syncthreads();
  if (threadIdx.x < n) x[threadIdx.x] = kept[threadIdx.x] + 1.f;
}

static void ok(cudaError_t error) {
  TVM_FFI_CHECK(error == cudaSuccess, RuntimeError) << cudaGetErrorName(error);
}

tvm::ffi::Array<int64_t> shapes(tvm::ffi::TensorView x) {
  int device = -1, sms = 0, per_sm = 0, with_shared = 0, grid = 0, block = 0;
  ok(cudaGetDevice(&device));
  ok(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, x.device().device_id));
  ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, add_one<float>, 256, 0));
  const size_t bytes = 32 * 1024;
  ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&with_shared, uses_shared, 128, bytes));
  void (*kernel)(float*, int) = &add_one<float>;
  ok(cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel));
  auto stream = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  int n = static_cast<int>(x.numel());
  auto* p = static_cast<float*>(x.data_ptr());
  add_one<float><<<std::min(sms * per_sm, (n + 255) / 256), 256, 0, stream>>>(p, n);
  kernel<<<std::min(grid, 2), block, 0, stream>>>(p, n);
  uses_shared<<<1, 128, bytes, stream>>>(p, std::min(n, 128));
  return {sms > 0, per_sm, with_shared, block};
}
