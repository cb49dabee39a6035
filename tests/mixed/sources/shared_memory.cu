// Dynamic shared memory: one array, that of a template, more than 48 KB, opted into.
template <typename T>
struct SharedMemory {
  __device__ operator T*() const {
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    return reinterpret_cast<T*>(shared_bytes);
  }
};

extern __shared__ float line[];

__global__ void reverse_rows(const float* x, float* y, int cols) {
  for (int c = threadIdx.x; c < cols; c += blockDim.x) line[c] = x[blockIdx.x * cols + c];
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[blockIdx.x * cols + c] = line[cols - 1 - c];
}

template <typename T, int kElements>
__global__ void shift_large(const T* x, T* y, int by) {
  T* kept = SharedMemory<T>();
  for (int i = threadIdx.x; i < kElements; i += blockDim.x) kept[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < kElements; i += blockDim.x) y[i] = kept[(i + by) % kElements];
}

static void check(cudaError_t error) {
  if (error != cudaSuccess) TVM_FFI_THROW(RuntimeError) << cudaGetErrorName(error);
}

static cudaStream_t stream_of(const tvm::ffi::TensorView& t) {
  return static_cast<cudaStream_t>(TVMFFIEnvGetStream(t.device().device_type, t.device().device_id));
}

void reverse(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  const int cols = static_cast<int>(x.size(1));
  const size_t bytes = cols * sizeof(float);
  static bool opted_in = false;
  if (!opted_in) check(cudaFuncSetAttribute(reverse_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  opted_in = true;
  reverse_rows<<<x.size(0), 96, bytes, stream_of(x)>>>((const float*)x.data_ptr(),
                                                      (float*)y.data_ptr(), cols);
}

void shift(tvm::ffi::TensorView x, tvm::ffi::TensorView y, int by) {
  constexpr int kElements = 8 * 1024;
  auto kernel = shift_large<double, kElements>;
  const int bytes = kElements*(sizeof(double));
  check(cudaFuncSetAttribute((const void*)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<1, 256, bytes, stream_of(x)>>>((const double*)x.data_ptr(), (double*)y.data_ptr(), by);
  check(cudaGetLastError());
}
