#include <cuda_runtime.h>



#define TABLE_SIZE 4

constexpr int kBlock = 128;
const int kGrid = 2;

__constant__ float weights[TABLE_SIZE];
__constant__ int sizes[] = {1, 2, 3};
__device__ float scratch[kBlock] = {0};
__device__ int calls = 0, failures = 0;

__device__ const float kTable[] = {0.5f, 1.5f};

namespace state {
__device__ unsigned flags = 0xffu;
}

__global__ void apply(float* x) {
  extern __shared__ float tile[];
  __shared__ int local[kBlock];
  local[threadIdx.x] = sizes[threadIdx.x % 3] + state::flags;
  tile[threadIdx.x] = x[threadIdx.x] * weights[threadIdx.x % TABLE_SIZE] + kTable[0];
  scratch[threadIdx.x] = tile[threadIdx.x] + local[threadIdx.x];
  atomicAdd(&calls, kGrid);
}










