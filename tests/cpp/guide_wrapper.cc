// A wrapper in the shape of tvm-ffi's CUBIN launcher guide; no dialect is named, both are used.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/extra/cuda/device_guard.h>
#include <tvm/ffi/function.h>

#include <memory>

TVM_FFI_EMBED_CUBIN(kernels);

constexpr unsigned char kBytes[] = {
#include "kernel_bytes.inc"
};
TVM_FFI_EMBED_CUBIN_FROM_BYTES(from_bytes, kBytes);

namespace guide {

using tvm::ffi::TensorView;

void Square(TensorView x, TensorView y) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(from_bytes, "square");
  void* x_ptr = x.data_ptr();
  void* y_ptr = y.data_ptr();
  int32_t n = static_cast<int32_t>(x.size(0));
  uint64_t dummy = 0;
  void* args[] = {&x_ptr, &y_ptr, &n, &dummy, &dummy};
  DLDevice device = x.device();
  CUstream stream =
      static_cast<CUstream>(TVMFFIEnvGetStream(device.device_type, device.device_id));
  CUresult result = kernel.Launch(args, tvm::ffi::dim3(2, 3, 4), tvm::ffi::dim3(8, 4), stream);
  TVM_FFI_CHECK_CUDA_DRIVER_ERROR(result);
}

void Guarded(TensorView y, int64_t smem) {
  static auto kernel =
      EmbedCubinModule_kernels::Global()->mod.GetKernelWithMaxDynamicSharedMemory("shared");
  tvm::ffi::CUDADeviceGuard guard(y.device().device_id);
  void* y_ptr = y.data_ptr();
  int32_t n = static_cast<int32_t>(y.size(0));
  void* args[] = {&y_ptr, &n};
  TVM_FFI_CHECK_CUDA_ERROR(kernel.Launch(args, tvm::ffi::dim3(1), tvm::ffi::dim3(32), nullptr,
                                         static_cast<uint32_t>(smem)));
}

std::unique_ptr<tvm::ffi::CubinModule> loaded;
std::unique_ptr<tvm::ffi::CubinKernel> loaded_kernel;

void Load(const tvm::ffi::Bytes& image) {
  loaded = std::make_unique<tvm::ffi::CubinModule>(image);
  loaded_kernel = std::make_unique<tvm::ffi::CubinKernel>((*loaded)["add_one"]);
}

void Unload() {
  loaded_kernel.reset();
  loaded.reset();
}

void LoadedClustered(TensorView x, TensorView y, int cluster) {
  namespace api = tvm::ffi::cuda_api;
  void* x_ptr = x.data_ptr();
  void* y_ptr = y.data_ptr();
  int64_t n = x.size(0);
  void* args[] = {&x_ptr, &y_ptr, &n};
  api::LaunchConfig config{};
  api::LaunchAttrType attr{};
  api::StreamHandle stream = static_cast<api::StreamHandle>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(api::ConstructLaunchConfig(
      loaded_kernel->GetHandle(), stream, 0, tvm::ffi::dim3(4), tvm::ffi::dim3(64), cluster, config,
      attr));
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(loaded_kernel->LaunchEx(args, config));
}

void LimitSmem(int64_t bytes) {
  EmbedCubinModule_kernels::Global()->mod.GetKernelWithMaxDynamicSharedMemory("shared", bytes);
}

void Missing() { EmbedCubinModule_kernels::Global()->mod.GetKernel("no_such_kernel"); }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(square, guide::Square);

}  // namespace guide

TVM_FFI_DLL_EXPORT_TYPED_FUNC(guarded, guide::Guarded);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(load, guide::Load);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(unload, guide::Unload);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(loaded_clustered, guide::LoadedClustered);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(limit_smem, guide::LimitSmem);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(missing, guide::Missing);
