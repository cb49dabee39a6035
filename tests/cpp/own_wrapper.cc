// A wrapper over tvmffi_cubin's own C++ names.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

EMBED_CUBIN(kernels);

// Namespace scope: neither may need a driver when the shared object is loaded.
tvmffi_cubin::CubinModule run_time_module;
struct Holder {
  tvmffi_cubin::CubinModule module{"not an image"};
  tvmffi_cubin::CubinKernel kernel;
} holder;

using tvm::ffi::TensorView;
using tvmffi_cubin::CheckDriver;
using tvmffi_cubin::LaunchConfig;

void AddOneOn(TensorView x, TensorView y, int64_t stream, int device) {
  static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "add_one");
  void *in = x.data_ptr(), *out = y.data_ptr();
  int64_t n = x.size(0);
  void* args[] = {&in, &out, &n};
  LaunchConfig config((n + 127) / 128, 128);
  config.SetStream(reinterpret_cast<CUstream>(stream)).SetDevice(device);
  CheckDriver(kernel.Launch(args, config));
}

void Shared(TensorView y, int64_t smem) {
  static auto kernel = EMBED_CUBIN_MODULE(kernels)["shared"];
  void* out = y.data_ptr();
  int n = static_cast<int>(y.size(0));
  void* args[] = {&out, &n};
  CheckDriver(kernel.Launch(
      args, LaunchConfig({1, 2, 3}, {32, 2}).SetDynamicSmemBytes(static_cast<uint32_t>(smem))));
}

// A kernel keeps its image loaded, also where nothing else does.
void Outlives(tvm::ffi::Bytes image, TensorView y) {
  run_time_module = tvmffi_cubin::CubinModule(std::move(image));
  holder.kernel = run_time_module["shared"];
  run_time_module = tvmffi_cubin::CubinModule();
  void* out = y.data_ptr();
  int n = 1;
  void* args[] = {&out, &n};
  CheckDriver(holder.kernel.Launch(args, LaunchConfig(1, 32)));
}

void Release() { holder.kernel = tvmffi_cubin::CubinKernel(); }
void BadImage() { holder.module.GetKernel("any"); }
void Empty() { run_time_module.GetKernel("any"); }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one_on, AddOneOn);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(shared, Shared);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(outlives, Outlives);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(release, Release);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(bad_image, BadImage);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(empty, Empty);
