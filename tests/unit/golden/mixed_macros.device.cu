#include <cuda_runtime.h>



#define KERNEL extern "C" __global__ void
#define CHECK(call)                          \
  do {                                       \
    if ((call) != cudaSuccess) std::abort(); \
  } while (0)
#define LAUNCH(kernel, n, ...)                                   \
  do {                                                           \
    kernel<<<((n) + kThreads - 1) / kThreads, kThreads>>>(       \
        __VA_ARGS__);                                            \
    CHECK(cudaGetLastError());                                   \
  } while (0)
#define CONFIG(n) <<<(n), kThreads>>>
#define DEFINE_UNARY(name, expression)                   \
  __global__ void name(float* x, int n) {                \
    int i = blockIdx.x * blockDim.x + threadIdx.x;       \
    if (i < n) x[i] = expression;                        \
  }


constexpr float kSlope = 0.1f;

#define LEAKY(v) ((v) > 0 ? (v) : kSlope * (v))

KERNEL negate(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = -LEAKY(x[i]);
}

__global__ void square(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] * x[i]; }
__global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 2 * x[i]; }






