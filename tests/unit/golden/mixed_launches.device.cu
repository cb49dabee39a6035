#include <cuda_runtime.h>




__global__ void fill(int* x, int value = 7) { x[threadIdx.x] = value; }
__global__ void other(int* x, int value) { x[threadIdx.x] += value; }
__global__ void bare() {}




























