// What was written for torch's load_inline, after the changes that docs/mixed_sources.md lists.
#include <cuda_fp16.h>

template <typename scalar_t>
__global__ void leaky_relu_kernel(const scalar_t* x, scalar_t* y, float slope, int64_t n) {
  int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = v > 0 ? v : slope * v;
}

tvm::ffi::Tensor leaky_relu(tvm::ffi::TensorView x, double slope) {
  TVM_FFI_CHECK(x.device().device_type == kDLCUDA, ValueError) << "x must be a CUDA tensor";
  TVM_FFI_CHECK(x.is_contiguous(), ValueError) << "x must be contiguous";
  auto y = tvm::ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, x.shape(), x.dtype(), x.device());
  int64_t n = x.numel();
  auto stream = static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  auto run = [&](auto zero) {
    using scalar_t = decltype(zero);
    leaky_relu_kernel<scalar_t><<<(n + 255) / 256, 256, 0, stream>>>(
        static_cast<scalar_t*>(x.data_ptr()), static_cast<scalar_t*>(y.data_ptr()), slope, n);
  };
  switch (x.dtype().bits) {
    case 16: run(__half()); break;
    case 32: run(float()); break;
    default: TVM_FFI_THROW(TypeError) << "x must be of floats or halves";
  }
  return y;
}
