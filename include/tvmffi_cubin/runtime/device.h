/*!
 * \file tvmffi_cubin/runtime/device.h
 * \brief cudaSetDevice and its kin over the driver; the context that every other call needs.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_DEVICE_H_
#define TVMFFI_CUBIN_RUNTIME_DEVICE_H_

#include "../core/device.h"
#include "../core/driver.h"
#include "error.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxSetCurrent, 4000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxSynchronize, 2000)

/*! \brief Makes a device's primary context the thread's own, as cudaSetDevice does. */
inline CUresult SetDevice(int device) {
  if (!OpenDriver()) return CUDA_ERROR_NO_DEVICE;
  CUcontext context = nullptr;
  if (device >= 0 && device < kMaxDevices) {
    __atomic_store_n(&contexts_kept[device], true, __ATOMIC_SEQ_CST);
  }
  const Status status = PrimaryContext(device, &context);
  if (!status.ok()) return status.result;
  return entry::cuCtxSetCurrent(context);
}

/*! \brief Gives the thread device 0's context unless it has one, as the runtime's calls do. */
inline CUresult EnsureContext() {
  if (!OpenDriver()) return CUDA_ERROR_NO_DEVICE;
  CUcontext current = nullptr;
  const CUresult result = entry::cuCtxGetCurrent(&current);
  return result != CUDA_SUCCESS || current != nullptr ? result : SetDevice(0);
}

/*! \brief Calls a driver entry point in a context and notes a failure. */
template <typename Entry, typename... Arguments>
cudaError_t CallInContext(Entry& call, Arguments... arguments) {
  const CUresult result = EnsureContext();
  return NoteRuntimeError(result == CUDA_SUCCESS ? call(arguments...) : result);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaGetDeviceCount(int* count) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, count)) return error;
  *count = 0;
  return tvmffi_cubin::NoteRuntimeError(tvmffi_cubin::entry::cuDeviceGetCount(count));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaGetDevice(int* device) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, device)) return error;
  if (!tvmffi_cubin::OpenDriver()) return tvmffi_cubin::NoteRuntimeError(CUDA_ERROR_NO_DEVICE);
  *device = tvmffi_cubin::CurrentDevice();
  return cudaSuccess;
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaSetDevice(int device) {
  return tvmffi_cubin::NoteRuntimeError(tvmffi_cubin::SetDevice(device));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device) {
  CUdevice handle = 0;
  CUresult result = tvmffi_cubin::entry::cuDeviceGet(&handle, device);
  if (result == CUDA_SUCCESS) {
    const auto which = static_cast<CUdevice_attribute>(attribute);
    result = tvmffi_cubin::entry::cuDeviceGetAttribute(value, which, handle);
  }
  return tvmffi_cubin::NoteRuntimeError(result);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDeviceSynchronize(void) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuCtxSynchronize);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDriverGetVersion(int* version) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, version)) return error;
  *version = 0;
  return tvmffi_cubin::NoteRuntimeError(
      tvmffi_cubin::OpenDriver() ? tvmffi_cubin::entry::cuDriverGetVersion(version) : CUDA_SUCCESS);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaRuntimeGetVersion(int* version) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, version)) return error;
  *version = CUDART_VERSION;
  return cudaSuccess;
}

#endif  // TVMFFI_CUBIN_RUNTIME_DEVICE_H_
