#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

// A kernel, "__global__" it is, and a host function.
__global__ void saxpy(float a, const float* x, float* y, int n = 16) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;  // one element
  if (i < n) {
    y[i] = a * x[i] + y[i];
  }
}

int run(std::vector<float>& x, float* y, cudaStream_t stream) {
  int n = static_cast<int>(x.size());
  saxpy<<<(n + 255) / 256, 256, 0, stream>>>(2.0f, x.data(), y, n);
  saxpy<<<dim3(1, 1, 1),  // blocks
          16>>>(1.0f, x.data(),
                y);
  std::printf("%s <<<not a launch>>>(1)\n", cudaGetErrorString(cudaGetLastError()));
  return n;
}
