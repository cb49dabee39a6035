// Calls of the driver and of the runtime by their own names.
#include <cuda.h>
#include <cuda_runtime.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

#include <string>

// Eleven arguments: those beyond the sixth go through the stack.
int DriverCalls(tvm::ffi::Bytes image, int64_t out) {
  CUlibrary library;
  CUkernel kernel;
  CUcontext context;
  CUresult result = cuInit(0);
  if (result != CUDA_SUCCESS) return result;
  if ((result = cuDevicePrimaryCtxRetain(&context, 1)) != CUDA_SUCCESS) return result;
  if ((result = cuCtxPushCurrent(context)) != CUDA_SUCCESS) return result;
  result = cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result != CUDA_SUCCESS) return result;
  if ((result = cuLibraryGetKernel(&kernel, library, "shared")) != CUDA_SUCCESS) return result;
  void* pointer = reinterpret_cast<void*>(out);
  int n = 7;
  void* args[] = {&pointer, &n};
  result = cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 2, 3, 4, 5, 6, 7, 8, nullptr, args,
                          nullptr);
  if (result != CUDA_SUCCESS) return result;
  cuCtxPopCurrent(&context);
  cuDevicePrimaryCtxRelease(1);
  return cuLibraryUnload(library);
}

int OneCall() { return cuCtxSynchronize(); }
int UnknownToStub() { return cuCtxResetPersistingL2Cache(); }

tvm::ffi::String DriverErrorText(int code) {
  const char *name, *text;
  cuGetErrorName(static_cast<CUresult>(code), &name);
  cuGetErrorString(static_cast<CUresult>(code), &text);
  return std::string(name) + ": " + text;
}

int RuntimeCalls() {
  int device = -1;
  float* data = nullptr;
  if (cudaSetDevice(2) != cudaSuccess || cudaGetDevice(&device) != cudaSuccess) return 1;
  if (cudaMalloc(&data, 64) != cudaSuccess || cudaFree(data) != cudaSuccess) return 2;
  if (cudaSetDevice(99) != cudaErrorInvalidDevice) return 3;
  if (cudaGetLastError() != cudaErrorInvalidDevice || cudaGetLastError() != cudaSuccess) return 4;
  return device - 2;
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(driver_calls, DriverCalls);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(one_call, OneCall);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(unknown_to_stub, UnknownToStub);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(driver_error_text, DriverErrorText);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(runtime_calls, RuntimeCalls);
