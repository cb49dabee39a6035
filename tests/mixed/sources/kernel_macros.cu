// Macros that define kernels, and the host functions that launch them.
#define UNARY_KERNEL(NAME, EXPRESSION)                                       \
  __global__ void NAME##_kernel(const float* x, float* y, int64_t n) {       \
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;              \
    if (i < n) {                                                             \
      float v = x[i];                                                        \
      y[i] = (EXPRESSION);                                                   \
    }                                                                        \
  }

#define UNARY_HOST(NAME)                                                               \
  void NAME(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {                          \
    auto stream = static_cast<cudaStream_t>(                                           \
        TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));             \
    int64_t n = x.numel();                                                             \
    NAME##_kernel<<<(n + 63) / 64, 64, 0, stream>>>(                                   \
        static_cast<const float*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), n); \
  }

#define UNARY(NAME, EXPRESSION)    \
  UNARY_KERNEL(NAME, EXPRESSION)   \
  UNARY_HOST(NAME)

UNARY(relu, v > 0.f ? v : 0.f)
UNARY(cube, v* v* v)
