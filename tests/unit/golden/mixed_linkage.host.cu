#include <cuda_runtime.h>

extern "C" __global__ void single(int* x) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x))>(&single)), x)



extern "C" {
__global__ void __launch_bounds__(128, 2) block(int* x, int n) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(x), decltype(n))>(&block)), x, n)
struct Plain {
  int n;
};
int host_c(int* x, struct Plain plain) {
  (::tvmffi_cubin::KernelLaunch(1, 128), block(x, plain.n));
  return plain.n;
}
}

extern "C" int run(int* x) {
  (::tvmffi_cubin::KernelLaunch(1, 1), single(x));
  return host_c(x, Plain{3});
}
