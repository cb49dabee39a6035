// Dynamic shared memory: one array, several in one, and that of a template.
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

// Counts and sums lie behind each other.
__global__ void group_means(const float* values, const int* groups, float* means, int n,
                            int num_groups) {
  extern __shared__ char raw[];
  float* sums = reinterpret_cast<float*>(raw);
  int* counts = reinterpret_cast<int*>(sums + num_groups);
  for (int g = threadIdx.x; g < num_groups; g += blockDim.x) sums[g] = 0, counts[g] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    atomicAdd(&sums[groups[i]], values[i]);
    atomicAdd(counts + groups[i], 1);
  }
  __syncthreads();
  for (int g = threadIdx.x; g < num_groups; g += blockDim.x)
    means[g] = counts[g] ? sums[g] / counts[g] : 0.f;
}

template <typename T>
__global__ void rotate(T* x, int n, int by) {
  T* kept = SharedMemory<T>();
  if (threadIdx.x < n) kept[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n) x[threadIdx.x] = kept[(threadIdx.x + by) % n];
}

static cudaStream_t stream_of(const tvm::ffi::TensorView& t) {
  return static_cast<cudaStream_t>(TVMFFIEnvGetStream(t.device().device_type, t.device().device_id));
}

void reverse(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  const int cols = static_cast<int>(x.size(1));
  const size_t bytes = cols * sizeof(float);
  reverse_rows<<<x.size(0), 96, bytes, stream_of(x)>>>((const float*)x.data_ptr(),
                                                      (float*)y.data_ptr(), cols);
}

void means(tvm::ffi::TensorView values, tvm::ffi::TensorView groups, tvm::ffi::TensorView out) {
  const int num = static_cast<int>(out.numel());
  group_means<<<1, 256, num*(sizeof(float) + sizeof(int)), stream_of(out)>>>(
      (const float*)values.data_ptr(), (const int*)groups.data_ptr(), (float*)out.data_ptr(),
      (int)values.numel(), num);
}

void rotate_all(tvm::ffi::TensorView doubles, tvm::ffi::TensorView shorts, int64_t by) {
  int n = doubles.numel();
  rotate<double><<<1, n, n * sizeof(double), stream_of(doubles)>>>((double*)doubles.data_ptr(), n, by);
  rotate<short><<<1, n, n * sizeof(short), stream_of(shorts)>>>((short*)shorts.data_ptr(), n, by);
}
