// The kernels that the wrappers in this folder launch.
extern "C" __global__ void add_one(const float* x, float* y, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1.0f;
}

// As Triton compiles one: two trailing pointers that the kernel does not use.
extern "C" __global__ void square(const float* x, float* y, int n, void* scratch, void* profile) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i];
}

extern "C" __global__ void shared(float* y, int n) {
  extern __shared__ float buffer[];
  buffer[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x < n) y[threadIdx.x] = buffer[threadIdx.x];
}

// As large and as aligned as a tensor map, which is passed by value.
struct alignas(64) Block128 {
  unsigned char bytes[128];
};

extern "C" __global__ void mapped(const __grid_constant__ Block128 map, int n) {}

extern "C" __global__ void by_value(const __grid_constant__ Block128 block, float* y) {
  y[threadIdx.x] = block.bytes[threadIdx.x % 128];
}

// More than the portable 8 blocks in a cluster, which no launch attribute tells.
extern "C" __global__ void __cluster_dims__(16, 1, 1) wide(float* y) {
  y[blockIdx.x] = blockIdx.x % 16;
}
