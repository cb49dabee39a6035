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
  CUdeviceptr memory;
  CUcontext context;
  CUresult result = cuInit(0);
  if (result != CUDA_SUCCESS) return result;
  if ((result = cuDevicePrimaryCtxRetain(&context, 1)) != CUDA_SUCCESS) return result;
  if ((result = cuCtxPushCurrent(context)) != CUDA_SUCCESS) return result;
  result = cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result != CUDA_SUCCESS) return result;
  if ((result = cuLibraryGetKernel(&kernel, library, "shared")) != CUDA_SUCCESS) return result;
  if ((result = cuMemAlloc(&memory, 64)) != CUDA_SUCCESS) return result;
  void* pointer = reinterpret_cast<void*>(out);
  int n = 7;
  void* args[] = {&pointer, &n};
  result = cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 2, 3, 4, 5, 6, 7, 8, nullptr, args,
                          nullptr);
  if (result != CUDA_SUCCESS) return result;
  if ((result = cuMemFree(memory)) != CUDA_SUCCESS) return result;
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
  int count = 0, device = -1, value = 0;
  float* data = nullptr;
  cudaStream_t stream;
  cudaEvent_t event;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count != 3) return 1;
  if (cudaSetDevice(2) != cudaSuccess || cudaGetDevice(&device) != cudaSuccess) return 2;
  if (device != 2) return 3;
  if (cudaMalloc(&data, 64) != cudaSuccess || data == nullptr) return 4;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return 5;
  if (cudaMemsetAsync(data, 0, 64, stream) != cudaSuccess) return 6;
  float host[4] = {1, 2, 3, 4}, back[4] = {};
  if (cudaMemcpyAsync(data, host, sizeof(host), cudaMemcpyHostToDevice, stream)) return 7;
  if (cudaMemcpyAsync(back, data, sizeof(back), cudaMemcpyDeviceToHost, stream)) return 8;
  if (cudaEventCreate(&event) || cudaEventRecord(event, stream)) return 9;
  if (cudaEventSynchronize(event) || cudaEventDestroy(event)) return 10;
  if (cudaStreamSynchronize(stream) || cudaDeviceSynchronize()) return 11;
  if (back[0] != 1 || back[3] != 4) return 12;
  if (cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0)) return 13;
  if (value < 64 * 1024) return 14;
  if (cudaStreamDestroy(stream) || cudaFree(data) || cudaFree(nullptr)) return 15;
  if (cudaSetDevice(99) != cudaErrorInvalidDevice) return 16;
  if (cudaPeekAtLastError() != cudaErrorInvalidDevice) return 17;
  if (cudaGetLastError() != cudaErrorInvalidDevice || cudaGetLastError() != cudaSuccess) return 18;
  if (cudaRuntimeGetVersion(&value) || value != CUDART_VERSION) return 19;
  if (std::string(cudaGetErrorName(cudaErrorInvalidValue)) != "cudaErrorInvalidValue") return 20;
  return 0;
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(driver_calls, DriverCalls);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(one_call, OneCall);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(unknown_to_stub, UnknownToStub);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(driver_error_text, DriverErrorText);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(runtime_calls, RuntimeCalls);
