// fp16 and bf16: scalars, pairs, conversions of the host too.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void axpy_half2(const __half2* x, __half2* y, __half a, int pairs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pairs) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

template <typename T>
__device__ float to_float(T v);
template <>
__device__ float to_float<__half>(__half v) {
  return __half2float(v);
}
template <>
__device__ float to_float<__nv_bfloat16>(__nv_bfloat16 v) {
  return __bfloat162float(v);
}
template <>
__device__ float to_float<float>(float v) {
  return v;
}

template <typename To, typename From>
__global__ void convert(const From* x, To* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = To(to_float(x[i]));
}

using bf16 = __nv_bfloat16;
static cudaStream_t stream_of(tvm::ffi::TensorView t) {
  return (cudaStream_t)TVMFFIEnvGetStream(t.device().device_type, t.device().device_id);
}

void axpy(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double a) {
  int pairs = x.numel() / 2;
  axpy_half2<<<(pairs + 63) / 64, 64, 0, stream_of(x)>>>(
      reinterpret_cast<const __half2*>(x.data_ptr()), reinterpret_cast<__half2*>(y.data_ptr()),
      __float2half(static_cast<float>(a)), pairs);
}

void convert_to_float(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  int n = x.numel(), blocks = (n + 127) / 128;
  auto* out = static_cast<float*>(y.data_ptr());
  if (x.dtype().code == kDLBfloat)
    convert<float><<<blocks, 128, 0, stream_of(x)>>>(static_cast<bf16*>(x.data_ptr()), out, n);
  else
    convert<float><<<blocks, 128, 0, stream_of(x)>>>(static_cast<half*>(x.data_ptr()), out, n);
}

void convert_to_bf16(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  int n = x.numel();
  convert<bf16, float><<<(n + 127) / 128, 128, 0, stream_of(x)>>>((const float*)x.data_ptr(),
                                                                 (bf16*)y.data_ptr(), n);
}
