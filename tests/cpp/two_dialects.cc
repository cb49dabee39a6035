// One wrapper text in the dialect that TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API picks, 0 or 1.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>

TVM_FFI_EMBED_CUBIN(kernels);

namespace api = tvm::ffi::cuda_api;

int AddOne(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(kernels, "add_one");
  void *in = x.data_ptr(), *out = y.data_ptr();
  int64_t n = x.size(0);
  void* args[] = {&in, &out, &n};
  api::LaunchConfig config{};
  api::LaunchAttrType attr{};
  api::ConstructLaunchConfig(kernel.GetHandle(), nullptr, 0, tvm::ffi::dim3(1), tvm::ffi::dim3(32),
                             2, config, attr);
#if TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
  config.gridDimX = 6;
  attr.value.clusterDim.y = 1;
  CUresult result = kernel.LaunchEx(args, config);
  if (result == CUDA_SUCCESS) result = kernel.Launch(args, {}, {}, nullptr);
#else
  config.gridDim.x = 6;
  attr.val.clusterDim.y = 1;
  cudaError_t result = kernel.LaunchEx(args, config);
  if (result == cudaSuccess) result = kernel.Launch(args, {}, {}, nullptr);
  if (result == cudaSuccess) {
    result = cudaLaunchKernel(reinterpret_cast<const void*>(kernel.GetHandle()), ::dim3(3),
                              ::dim3(4), args, 0, nullptr);
  }
#endif
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(result);
  int count = 0;
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(api::GetDeviceCount(&count));
  return count;
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, AddOne);
