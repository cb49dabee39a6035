// A launch on stream 0, and a copy of what it has computed.
#include <cuda_runtime_api.h>

__global__ void square(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i];
}

#define CUDA_OK(call)                                                                    \
  do {                                                                                   \
    auto result = call;                                                                  \
    TVM_FFI_ICHECK(result == cudaSuccess) << #call << ": " << cudaGetErrorString(result); \
  } while (false)

double first_square(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  const int n = static_cast<int>(x.numel());
  CUDA_OK(cudaStreamSynchronize(
      (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id)));
  square<<<(n + 31) / 32, 32>>>((const float*)x.data_ptr(), (float*)y.data_ptr(), n);
  float first = -1.f;
  CUDA_OK(cudaMemcpy(&first, y.data_ptr(), sizeof(first), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaDeviceSynchronize());
  return first;
}
