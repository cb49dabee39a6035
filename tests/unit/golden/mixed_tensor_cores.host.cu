#include <cuda_fp16.h>
#include <cuda_runtime.h>




__global__ void tile(const half* a, const half* b, float* c) TVMFFI_CUBIN_STUB((static_cast<void (*)(decltype(a), decltype(b), decltype(c))>(&tile)), a, b, c)










void run(const half* x, float* out) {
  (::tvmffi_cubin::KernelLaunch(1, 32), tile(x, x, out));
}
