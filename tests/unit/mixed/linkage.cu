#include <cuda_runtime.h>

extern "C" __global__ void single(int* x) { *x = 1; }

extern "C" __device__ int helper(int x) { return x + 1; }

extern "C" {
__global__ void __launch_bounds__(128, 2) block(int* x, int n) { *x = helper(n); }
struct Plain {
  int n;
};
int host_c(int* x, struct Plain plain) {
  block<<<1, 128>>>(x, plain.n);
  return plain.n;
}
}

extern "C" int run(int* x) {
  single<<<1, 1>>>(x);
  return host_c(x, Plain{3});
}
