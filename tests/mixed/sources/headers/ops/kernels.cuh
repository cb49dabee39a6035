#pragma once

#include "../math.cuh"
#include "config.h"

namespace ops {

template <typename T>
__global__ void gelu_kernel(const T* x, T* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = gelu(x[i]);
}

__global__ void count_positive(const float* x, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && is_positive(x[i])) atomicAdd(count, 1);
}

// Host code in a header, with a launch.
inline void launch_count(const float* x, int* count, int n, cudaStream_t stream) {
  count_positive<<<blocks_for(n), kBlock, 0, stream>>>(x, count, n);
}

}  // namespace ops
