#include <cuda_runtime.h>




// A kernel, "__global__" it is, and a host function.
__global__ void saxpy(float a, const float* x, float* y, int n = 16) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;  // one element
  if (i < n) {
    y[i] = a * x[i] + y[i];
  }
}










