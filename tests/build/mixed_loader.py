"""Mixed sources that tests build and change, and how they are loaded."""

import tvmffi_cubin as tc

ADD = r"""
constexpr int kThreads = 128;

__global__ void add(const float* x, const float* y, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}

void vec_add(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView out) {
  int n = static_cast<int>(x.numel());
  auto* stream = static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  add<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
      static_cast<const float*>(x.data_ptr()), static_cast<const float*>(y.data_ptr()),
      static_cast<float*>(out.data_ptr()), n);
}
"""


SCALE = r"""
struct Twice { static constexpr int kFactor = 2; };
struct Thrice { static constexpr int kFactor = 3; };
template <typename T, typename By, int N>
__global__ void scale(T* x, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * N;
  for (int k = 0; k < N && i + k < n; ++k) x[i + k] *= By::kFactor;
}
template <typename T, typename By>
void launch(tvm::ffi::TensorView x) {
  int n = static_cast<int>(x.numel());
  auto* data = static_cast<T*>(x.data_ptr());
  if (n % 4 == 0) scale<T, By, 4><<<1, n / 4>>>(data, n);
  else scale<T, By, 1><<<1, n>>>(data, n);
}
void twice(tvm::ffi::TensorView x) {
  if (x.dtype().bits == 64) launch<double, Twice>(x);
  else launch<float, Twice>(x);
}
void thrice(tvm::ffi::TensorView x) { launch<float, Thrice>(x); }
"""


def load(source, functions, *, name="mixed", **options):
    return tc.load_inline(name, source, functions=functions, arch="sm_90", **options)
