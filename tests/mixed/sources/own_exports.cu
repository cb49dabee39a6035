// Exported by the source itself, under other names, with documentation, and a member.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

extern "C" {
__global__ void negate_kernel(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = -x[i];
}
static __global__ void abs_kernel(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = fabsf(x[i]);
}
}

namespace my_ops {

void Negate(tvm::ffi::TensorView x) {
  int n = x.size(0);
  cudaStream_t stream = (cudaStream_t)TVMFFIEnvGetStream(kDLCUDA, x.device().device_id);
  negate_kernel<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<float*>(x.data_ptr()), n);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(negate, my_ops::Negate);

struct Absolute {
  static void Run(tvm::ffi::TensorView x) {
    int n = x.size(0);
    cudaStream_t stream = (cudaStream_t)TVMFFIEnvGetStream(kDLCUDA, x.device().device_id);
    abs_kernel<<<(n + 127) / 128, 128, 0, stream>>>(static_cast<float*>(x.data_ptr()), n);
  }
};

TVM_FFI_DLL_EXPORT_TYPED_FUNC(absolute, Absolute::Run);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(negate, "Negates x in place.");

}  // namespace my_ops
