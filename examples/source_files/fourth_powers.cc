#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

EMBED_CUBIN(kernels);  // the image of the .cu files

void FourthPowers(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "squares");
  void *in = x.data_ptr(), *out = y.data_ptr();
  int n = static_cast<int>(x.size(0));
  DLDevice device = x.device();
  tvmffi_cubin::LaunchConfig config((n + 255) / 256, 256);
  config.SetDevice(device.device_id)
      .SetStream(static_cast<CUstream>(TVMFFIEnvGetStream(device.device_type, device.device_id)));
  void* first[] = {&in, &out, &n};
  tvmffi_cubin::CheckDriver(kernel.Launch(first, config));
  void* second[] = {&out, &out, &n};
  tvmffi_cubin::CheckDriver(kernel.Launch(second, config));
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(fourth_powers, FourthPowers);
