// Overloaded kernels and templates beside them: the launch's arguments choose, as in any call.
__global__ void store(float* out, float value) { out[threadIdx.x] = value; }
__global__ void store(int* out, int value) { out[threadIdx.x] = value + 1; }
__global__ void store(float* out, float value, int times) {
  out[threadIdx.x] = value * static_cast<float>(times);
}
template <typename T>
__global__ void store(T* out, const T* from) {
  out[threadIdx.x] = from[threadIdx.x];
}
template <typename T, int kPlus>
__global__ void store(T* out, const T* from) {
  out[threadIdx.x] = from[threadIdx.x] + T(kPlus);
}

void store_all(tvm::ffi::TensorView f, tvm::ffi::TensorView i, tvm::ffi::TensorView thrice,
               tvm::ffi::TensorView copied, tvm::ffi::TensorView plus) {
  auto s = (cudaStream_t)TVMFFIEnvGetStream(f.device().device_type, f.device().device_id);
  auto* pf = static_cast<float*>(f.data_ptr());
  auto* pi = static_cast<int*>(i.data_ptr());
  const unsigned n = f.numel();
  store<<<1, n, 0, s>>>(pf, 2.5f);
  store<<<1, n, 0, s>>>(pi, 7);
  store<<<1, n, 0, s>>>(static_cast<float*>(thrice.data_ptr()), 1.5f, 3);
  store<<<1, n, 0, s>>>(static_cast<float*>(copied.data_ptr()), static_cast<const float*>(pf));
  store<int, 40><<<1, n, 0, s>>>(static_cast<int*>(plus.data_ptr()), (const int*)pi);
}
