// Specialised kernels, explicit instantiations, kernels declared before and defined after their use.
template <typename T>
__global__ void describe(const T* x, float* out, int n);

__global__ void declared_first(float* out, int n);

template <typename T>
struct Traits {
  static constexpr float kScale = 1.f;
};
template <>
struct Traits<int> {
  static constexpr float kScale = 10.f;
};

template <typename T>
static void describe_one(tvm::ffi::TensorView x, float* out) {
  int n = static_cast<int>(x.numel());
  describe<T><<<1, n, 0, (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id)>>>(
      static_cast<const T*>(x.data_ptr()), out, n);
}

template <typename T>
__global__ void describe(const T* x, float* out, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = static_cast<float>(x[threadIdx.x]) * Traits<T>::kScale;
}

template <>
__global__ void describe<double>(const double* x, float* out, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = -static_cast<float>(x[threadIdx.x]);
}

template __global__ void describe<float>(const float*, float*, int);

void describe_all(tvm::ffi::TensorView f, tvm::ffi::TensorView i, tvm::ffi::TensorView d,
                  tvm::ffi::TensorView out) {
  auto* p = static_cast<float*>(out.data_ptr());
  const int n = static_cast<int>(f.numel());
  describe_one<float>(f, p);
  describe_one<int>(i, p + n);
  describe_one<double>(d, p + 2 * n);
  declared_first<<<1, n, 0, (cudaStream_t)TVMFFIEnvGetStream(f.device().device_type, f.device().device_id)>>>(
      p + 3 * n, n);
}

__global__ void declared_first(float* out, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = 0.5f * threadIdx.x;
}
