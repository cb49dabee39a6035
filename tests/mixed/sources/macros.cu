// Macros for qualifiers, for checks and for launches, some of them over several lines.
#include <cuda_runtime.h>

#include <sstream>

#define DEVICE_INLINE __device__ __forceinline__
#define HD __host__ __device__
#define HD_INLINE HD inline
#define KERNEL extern "C" __global__ void
#define BOUNDED(threads) __global__ void __launch_bounds__(threads)
#define RESTRICT __restrict__
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define BLOCK 128

#define CUDA_CHECK(expression)                                                              \
  do {                                                                                      \
    cudaError_t error_ = (expression);                                                      \
    if (error_ != cudaSuccess) {                                                            \
      TVM_FFI_THROW(RuntimeError) << #expression << " failed: " << cudaGetErrorString(error_) \
                                  << " at " << __FILE__ << ":" << __LINE__;                 \
    }                                                                                       \
  } while (0)

#define LAUNCH(kernel, n, stream, ...)                                  \
  do {                                                                  \
    kernel<<<CEIL_DIV(n, BLOCK), BLOCK, 0, stream>>>(__VA_ARGS__, n);   \
    CUDA_CHECK(cudaGetLastError());                                     \
  } while (0)

#define FOR_EACH(i, n)                                                 \
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n);         \
       i += blockDim.x * gridDim.x)

DEVICE_INLINE float twice(float v) { return v + v; }
HD_INLINE float half_of(float v) { return v / 2; }

KERNEL doubled(const float* RESTRICT x, float* RESTRICT y, int n) {
  FOR_EACH(i, n) { y[i] = twice(x[i]); }
}

BOUNDED(BLOCK) halved(const float* RESTRICT x, float* RESTRICT y, int n) {
  FOR_EACH(i, n) y[i] = half_of(x[i]);
}

#define STREAM_OF(t) \
  reinterpret_cast<cudaStream_t>(TVMFFIEnvGetStream((t).device().device_type, (t).device().device_id))
#define PTR(type, t) static_cast<type*>((t).data_ptr())

void twice_and_half(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView z) {
  const int n = (int)x.numel();
  LAUNCH(doubled, n, STREAM_OF(x), PTR(float, x), PTR(float, y));
  LAUNCH(halved, n, STREAM_OF(x), PTR(float, x), PTR(float, z));
}

double host_half(double v) { return half_of(static_cast<float>(v)); }
