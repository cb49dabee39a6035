// Devices: capture mode, primary contexts, the scope that enters one, attributes.
//
// A CUdevice is the device's ordinal: all code that queries contexts relies on this.
#pragma once

#include <tvm/ffi/c_api.h>

#include "driver.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceGetAttribute, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuDevicePrimaryCtxRetain, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuDevicePrimaryCtxRelease, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxGetDevice, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxGetCurrent, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxPushCurrent, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxPopCurrent, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamGetCtx, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuPointerGetAttribute, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuThreadExchangeStreamCaptureMode, 12000)

// Sets the thread's capture mode to relaxed: loads and frees would otherwise be rejected in a
// capture, and end it, though no graph needs them. For slow paths: it takes two driver calls.
struct CaptureScope {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

  CaptureScope() { entry::cuThreadExchangeStreamCaptureMode(&mode); }
  ~CaptureScope() { entry::cuThreadExchangeStreamCaptureMode(&mode); }
};

// Primary contexts retained so far; unloading releases them: at exit, a call comes too late.
inline CUcontext primary_contexts[kMaxDevices];

// The primary context of a device, retained on first use.
TVMFFI_CUBIN_COLD Status PrimaryContext(int device, CUcontext* context) {
  if (device < 0 || device >= kMaxDevices) return {CUDA_ERROR_INVALID_DEVICE, "cuDeviceGet"};
  *context = __atomic_load_n(&primary_contexts[device], __ATOMIC_ACQUIRE);
  if (*context != nullptr) return {};
  CaptureScope relaxed;
  const CUresult result = entry::cuDevicePrimaryCtxRetain(context, device);
  if (result != CUDA_SUCCESS) return {result, "cuDevicePrimaryCtxRetain"};
  CUcontext none = nullptr;
  // Two threads may retain at once: one reference is enough, so the loser releases its own.
  if (!__atomic_compare_exchange_n(&primary_contexts[device], &none, *context, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    entry::cuDevicePrimaryCtxRelease(device);
  }
  return {};
}

// The device of the calling thread's context; 0 if it has none.
inline int CurrentDevice() {
  CUdevice device = 0;
  return entry::cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : 0;
}

// Enters a device. A current context on it stays: the caller's stream may belong to it.
struct DeviceScope {
  bool has_pushed = false;

  ~DeviceScope() {
    CUcontext context = nullptr;
    if (has_pushed) entry::cuCtxPopCurrent(&context);
  }

  Status Enter(int device) {
    CUdevice current = -1;
    if (entry::cuCtxGetDevice(&current) == CUDA_SUCCESS && current == device) return {};
    CUcontext context = nullptr;
    const Status status = PrimaryContext(device, &context);
    if (!status.ok()) return status;
    const CUresult result = entry::cuCtxPushCurrent(context);
    has_pushed = result == CUDA_SUCCESS;
    return {result, "cuCtxPushCurrent"};
  }
};

// The device of a stream; -1 for CUDA's default streams, 0, 1 and 2, and if the driver does not
// report it, as for a stream being captured.
inline int StreamDevice(CUstream stream) {
  CUcontext context = nullptr;
  CUdevice device = -1;
  if (reinterpret_cast<uintptr_t>(stream) <= 2 ||
      entry::cuStreamGetCtx(stream, &context) != CUDA_SUCCESS ||
      entry::cuCtxPushCurrent(context) != CUDA_SUCCESS) {
    return -1;
  }
  entry::cuCtxGetDevice(&device);
  entry::cuCtxPopCurrent(&context);
  return device;
}

// Enters a launch's device and returns it; if none is chosen (-1) the stream's, for a default
// stream the current one, 0 in a thread that has none.
inline Status EnterLaunch(CUstream stream, int* device, DeviceScope* scope) {
  if (*device < 0) *device = StreamDevice(stream);
  if (*device < 0) *device = CurrentDevice();
  return scope->Enter(*device);
}

// A device attribute; -1 if the driver does not report it.
inline int DeviceAttribute(int device, CUdevice_attribute attribute) {
  int value = -1;
  const CUresult result = entry::cuDeviceGetAttribute(&value, attribute, device);
  return result == CUDA_SUCCESS ? value : -1;
}

// A device's architecture: 90 for sm_90.
inline int DeviceArch(int device) {
  return 10 * DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

// The type of memory at an address, if the driver knows it; 0 for other host memory.
TVMFFI_CUBIN_COLD int MemoryTypeOf(const void* address) {
  int type = 0;
  entry::cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                               reinterpret_cast<CUdeviceptr>(address));
  return type;
}

// Whether a tensor that is not on a device is in page-locked or managed memory.
inline bool IsHostMemoryForKernels(const DLTensor& tensor) {
  const DLDeviceType where = tensor.device.device_type;
  if (where == kDLCUDAHost || where == kDLCUDAManaged) return true;
  return where == kDLCPU && tensor.data != nullptr && MemoryTypeOf(tensor.data) != 0;
}

inline void* DataOf(const DLTensor& tensor) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset);
}

TVMFFI_CUBIN_END
