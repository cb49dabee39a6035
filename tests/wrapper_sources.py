"""C++ wrappers in the shapes of tvm-ffi's CUBIN launcher guide, and the kernels they launch."""

KERNELS = r"""
extern "C" __global__ void add_one(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1.0f;
}
extern "C" __global__ void mul_two(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 2.0f;
}
"""

_INCLUDES = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>
"""

_ARGUMENTS = r"""
  TVM_FFI_CHECK(x.ndim() == 1, ValueError) << "x must be one-dimensional";
  int64_t n = x.size(0);
  void* x_ptr = x.data_ptr();
  void* y_ptr = y.data_ptr();
  void* args[] = {reinterpret_cast<void*>(&x_ptr), reinterpret_cast<void*>(&y_ptr),
                  reinterpret_cast<void*>(&n)};
  tvm::ffi::dim3 grid((n + 255) / 256);
  tvm::ffi::dim3 block(256);
  DLDevice device = x.device();
"""

# The driver's dialect: CUstream, CUresult.
DRIVER = (
    _INCLUDES
    + r"""
TVM_FFI_EMBED_CUBIN(kernels);
namespace loader {
void AddOne(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(kernels, "add_one");
"""
    + _ARGUMENTS
    + r"""
  CUstream stream = static_cast<CUstream>(TVMFFIEnvGetStream(device.device_type, device.device_id));
  CUresult result = kernel.Launch(args, grid, block, stream);
  TVM_FFI_CHECK_CUDA_DRIVER_ERROR(result);
}
}  // namespace loader
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, loader::AddOne);
"""
)

# The runtime's dialect: cudaStream_t, cudaError_t; exported from inside a namespace.
_END = "}  // namespace loader\n"
_EXPORT = "TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, loader::AddOne);\n"
RUNTIME = (
    DRIVER.replace("CUstream", "cudaStream_t")
    .replace("CUresult", "cudaError_t")
    .replace("CHECK_CUDA_DRIVER_ERROR", "CHECK_CUDA_ERROR")
    .replace(_END + _EXPORT, _EXPORT + _END)
)

# The image comes at run time as bytes; module and kernels live in globals.
BYTES = (
    _INCLUDES
    + r"""
#include <memory>
namespace loader {
static std::unique_ptr<tvm::ffi::CubinModule> g_module;
static std::unique_ptr<tvm::ffi::CubinKernel> g_add_one;
static std::unique_ptr<tvm::ffi::CubinKernel> g_mul_two;
void Load(const tvm::ffi::Bytes& image) {
  g_module = std::make_unique<tvm::ffi::CubinModule>(image);
  g_add_one = std::make_unique<tvm::ffi::CubinKernel>((*g_module)["add_one"]);
  g_mul_two = std::make_unique<tvm::ffi::CubinKernel>(g_module->GetKernel("mul_two"));
}
void Run(tvm::ffi::CubinKernel* kernel, tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
"""
    + _ARGUMENTS
    + r"""
  cudaStream_t stream =
      static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(kernel->Launch(args, grid, block, stream));
}
void AddOne(tvm::ffi::TensorView x, tvm::ffi::TensorView y) { Run(g_add_one.get(), x, y); }
void MulTwo(tvm::ffi::TensorView x, tvm::ffi::TensorView y) { Run(g_mul_two.get(), x, y); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(load, loader::Load);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, loader::AddOne);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(mul_two, loader::MulTwo);
}  // namespace loader
"""
)

# Raw calls of driver and runtime beside the launcher, and a guard for the device.
RAW_CALLS = (
    _INCLUDES
    + r"""
#include <cuda_runtime.h>
#include <tvm/ffi/extra/cuda/device_guard.h>
TVM_FFI_EMBED_CUBIN(kernels);
void AddOne(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(kernels, "add_one");
  tvm::ffi::CUDADeviceGuard guard(x.device().device_id);
"""
    + _ARGUMENTS
    + r"""
  CUstream stream = static_cast<CUstream>(TVMFFIEnvGetStream(device.device_type, device.device_id));
  CUdeviceptr copy = 0;
  TVM_FFI_CHECK_CUDA_DRIVER_ERROR(cuMemAlloc(&copy, n * sizeof(float)));
  TVM_FFI_CHECK_CUDA_DRIVER_ERROR(
      cuMemcpyDtoDAsync(copy, reinterpret_cast<CUdeviceptr>(x_ptr), n * sizeof(float), stream));
  args[0] = &copy;
  tvm::ffi::cuda_api::LaunchConfig config;
  tvm::ffi::cuda_api::LaunchAttrType attribute;
  tvm::ffi::cuda_api::ConstructLaunchConfig(kernel.GetHandle(), stream, 0, grid, block, 1, config,
                                            attribute);
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(kernel.LaunchEx(args, config));
  TVM_FFI_CHECK_CUDA_ERROR(cudaStreamSynchronize(stream));
  TVM_FFI_CHECK_CUDA_DRIVER_ERROR(cuMemFree(copy));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, AddOne);
"""
)
