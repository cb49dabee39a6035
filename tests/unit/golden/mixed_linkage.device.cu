#include <cuda_runtime.h>

extern "C" __global__ void single(int* x) { *x = 1; }

extern "C" __device__ int helper(int x) { return x + 1; }

extern "C" {
__global__ void __launch_bounds__(128, 2) block(int* x, int n) { *x = helper(n); }







}





