#include <cuda_runtime.h>
#ifndef USE_FAST
#define USE_FAST 1
#endif

#if USE_FAST
#include <cuda_fp16.h>
#else
#include <vector>
#endif

#ifdef __CUDACC__
__device__ int device_only(int x) { return x + 1; }
#endif

#if USE_FAST
__global__ void work(int* x) { *x = device_only(*x); }
#else
__global__ void work(int* x) {
  *x = 0;
}
#endif

#ifndef __CUDA_ARCH__
int host_only() { return 3; }
#endif

__global__ void choose(int* x) {
#if __CUDA_ARCH__ >= 900
  *x = 90;
#elif defined(__CUDA_ARCH__)
  *x = 1;
#endif
}

int run(int* x) {
#if USE_FAST
  work<<<1, 1>>>(x);
#else
  work<<<1, 2>>>(x);
#endif
  choose<<<1, 1>>>(x);
  return host_only();
}
