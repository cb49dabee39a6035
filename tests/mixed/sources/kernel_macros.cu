// Macros that define kernels, and a list of operators that makes kernels and their host functions.
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

#define OPERATORS(_) \
  _(maximum, fmaxf(a, b)) \
  _(minimum, fminf(a, b))

#define DEFINE_BINARY(NAME, EXPRESSION)                                                  \
  template <typename T>                                                                  \
  __global__ void NAME##_of(const T* x, const T* y, T* z, int n) {                       \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                                 \
    if (i >= n) return;                                                                  \
    const T a = x[i], b = y[i];                                                          \
    z[i] = EXPRESSION;                                                                   \
  }

OPERATORS(DEFINE_BINARY)

void extremes(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView most,
              tvm::ffi::TensorView least) {
  auto* a = static_cast<const float*>(x.data_ptr());
  auto* b = static_cast<const float*>(y.data_ptr());
  auto s = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  const int n = static_cast<int>(x.numel());
#define RUN(NAME, out) NAME##_of<float><<<(n + 127) / 128, 128, 0, s>>>(a, b, (float*)out.data_ptr(), n)
  RUN(maximum, most);
  RUN(minimum, least);
#undef RUN
}
