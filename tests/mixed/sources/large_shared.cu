// More than 48 KB of dynamic shared memory, opted into kernel by kernel, templates too.
constexpr int kFloats = 24 * 1024;  // 96 KB

__global__ void reverse_large(const float* x, float* y) {
  extern __shared__ float kept[];
  for (int i = threadIdx.x; i < kFloats; i += blockDim.x) kept[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < kFloats; i += blockDim.x) y[i] = kept[kFloats - 1 - i];
}

template <typename T, int kElements>
__global__ void shift_large(const T* x, T* y, int by) {
  extern __shared__ __align__(8) char bytes[];
  T* kept = reinterpret_cast<T*>(bytes);
  for (int i = threadIdx.x; i < kElements; i += blockDim.x) kept[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < kElements; i += blockDim.x) y[i] = kept[(i + by) % kElements];
}

static void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    TVM_FFI_THROW(RuntimeError) << what << ": " << cudaGetErrorName(error);
}

void reverse(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  TVM_FFI_ICHECK_EQ(x.numel(), kFloats);
  constexpr int kBytes = kFloats * sizeof(float);
  static bool opted_in = false;
  if (!opted_in) {
    check(cudaFuncSetAttribute(reverse_large, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
          "reverse_large");
    opted_in = true;
  }
  auto s = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  reverse_large<<<1, 512, kBytes, s>>>((const float*)x.data_ptr(), (float*)y.data_ptr());
  check(cudaGetLastError(), "reverse_large");
}

void shift(tvm::ffi::TensorView x, tvm::ffi::TensorView y, int by) {
  constexpr int kElements = 8 * 1024;
  TVM_FFI_ICHECK_EQ(x.numel(), kElements);
  auto kernel = shift_large<double, kElements>;
  const int bytes = kElements * sizeof(double);
  check(cudaFuncSetAttribute((const void*)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "shift_large");
  auto s = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  kernel<<<1, 256, bytes, s>>>((const double*)x.data_ptr(), (double*)y.data_ptr(), by);
  check(cudaGetLastError(), "shift_large");
}

int64_t static_bytes() {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, reverse_large), "attributes");
  return attributes.sharedSizeBytes;
}
