// Several kernels, each with a host function, that share what prepares a launch.
#include <cuda_runtime.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstdint>

using tvm::ffi::TensorView;

static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

namespace {
constexpr int kThreads = 128;

cudaStream_t current_stream(const TensorView& t) {
  return static_cast<cudaStream_t>(TVMFFIEnvGetStream(t.device().device_type, t.device().device_id));
}

dim3 grid_for(const TensorView& t) { return dim3(static_cast<unsigned>(ceil_div(t.numel(), kThreads))); }

template <typename T>
T* data(const TensorView& t) {
  TVM_FFI_CHECK(t.IsContiguous(), ValueError) << "the tensor has gaps";
  return static_cast<T*>(t.data_ptr());
}
}  // namespace

__global__ void add_kernel(const float* a, const float* b, float* c, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void mul_kernel(const float* a, const float* b, float* c, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] * b[i];
}

__global__ void fill_kernel(float* c, float value, int64_t n) {
  const int64_t stride = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += stride) c[i] = value;
}

void add(TensorView a, TensorView b, TensorView c) {
  TVM_FFI_ICHECK_EQ(a.numel(), b.numel());
  add_kernel<<<grid_for(c), kThreads, 0, current_stream(c)>>>(data<float>(a), data<float>(b),
                                                              data<float>(c), c.numel());
}

void mul(TensorView a, TensorView b, TensorView c) {
  TVM_FFI_ICHECK_EQ(a.numel(), b.numel());
  const float *pa = data<float>(a), *pb = data<float>(b);
  mul_kernel<<<grid_for(c), kThreads, 0, current_stream(c)>>>(pa, pb, data<float>(c), c.numel());
}

void fill(TensorView c, double value) {
  fill_kernel<<<2, kThreads, 0, current_stream(c)>>>(data<float>(c), value, c.numel());
}
