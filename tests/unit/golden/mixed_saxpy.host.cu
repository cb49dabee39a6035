#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

// A kernel, "__global__" it is, and a host function.
__global__ void saxpy(float a, const float* x, float* y, int n = 16) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(a), decltype(x), decltype(y), decltype(n))>(&saxpy)), a, x, y, n)






int run(std::vector<float>& x, float* y, cudaStream_t stream) {
  int n = static_cast<int>(x.size());
  (::tvmffi_cubin::KernelLaunch((n + 255) / 256, 256, 0, stream), saxpy(2.0f, x.data(), y, n));
  (::tvmffi_cubin::KernelLaunch(dim3(1, 1, 1),  // blocks
          16), saxpy(1.0f, x.data(),
                y));
  std::printf("%s <<<not a launch>>>(1)\n", cudaGetErrorString(cudaGetLastError()));
  return n;
}
