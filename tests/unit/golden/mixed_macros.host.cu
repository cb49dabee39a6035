#include <cuda_runtime.h>

#include <cstdlib>

#define KERNEL extern "C" __global__ void
#define CHECK(call)                          \
  do {                                       \
    if ((call) != cudaSuccess) std::abort(); \
  } while (0)
#define LAUNCH(kernel, n, ...)                                   \
  do {                                                           \
    (::tvmffi_cubin::KernelLaunch(((n) + kThreads - 1) / kThreads, kThreads), kernel(       \
        __VA_ARGS__));                                            \
    CHECK(cudaGetLastError());                                   \
  } while (0)
#define CONFIG(n) <<<(n), kThreads>>>
#define DEFINE_UNARY(name, expression)                   \
  __global__ void name(float* x, int n) {                \
    int i = blockIdx.x * blockDim.x + threadIdx.x;       \
    if (i < n) x[i] = expression;                        \
  }

constexpr int kThreads = 128;


#define LEAKY(v) ((v) > 0 ? (v) : kSlope * (v))

KERNEL negate(float* x, int n) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x), decltype(n))>(&negate)), x, n)




__global__ void square(float* x, int n) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x), decltype(n))>(&square)), x, n)
__global__ void twice(float* x, int n) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x), decltype(n))>(&twice)), x, n)

void run(float* x, int n) {
  LAUNCH(negate, n, x, n);
  LAUNCH(square, n, x, n);
  (::tvmffi_cubin::KernelLaunch(( n), kThreads), twice(x, n));
}
