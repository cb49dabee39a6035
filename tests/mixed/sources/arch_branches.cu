// __CUDA_ARCH__ and __CUDACC__, #if branches in and around functions, launch bounds.
#define ITEMS_PER_THREAD 2
#if ITEMS_PER_THREAD > 1
#define THREADS 64
#else
#error "not this branch"
#endif

#ifdef __CUDACC__
#define COMMON __host__ __device__ __forceinline__
#else
#define COMMON inline
#endif

COMMON int side() {
#ifdef __CUDA_ARCH__
  return 1;
#else
  return 2;
#endif
}

__device__ int generation() {
#if __CUDA_ARCH__ >= 900
  return 9;
#elif __CUDA_ARCH__ >= 800
  return 8;
#elif defined(__CUDA_ARCH__)
#error "too old"
#else
  return 0;
#endif
}

__global__
#if ITEMS_PER_THREAD > 1
__launch_bounds__(THREADS, 4)
#endif
void iota(int* out, int n) {
#pragma unroll
  for (int k = 0; k < ITEMS_PER_THREAD; ++k) {
    int i = (blockIdx.x * THREADS + threadIdx.x) * ITEMS_PER_THREAD + k;
    if (i < n) out[i] = i * 10 + side();
  }
}

__global__ void write_generation(int* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  *out = generation();
#endif
}

#if 0
__global__ void never(float* x { this is not C++ <<<1, 2>>>
#endif

int64_t numbers(tvm::ffi::TensorView out, tvm::ffi::TensorView gen) {
  auto s = (cudaStream_t)TVMFFIEnvGetStream(out.device().device_type, out.device().device_id);
  int n = out.numel();
  constexpr int per_block = THREADS * ITEMS_PER_THREAD;
  iota<<<(n + per_block - 1) / per_block, THREADS, 0, s>>>(static_cast<int*>(out.data_ptr()), n);
  write_generation<<<1, 1, 0, s>>>((int*)gen.data_ptr());
  return side();
}
