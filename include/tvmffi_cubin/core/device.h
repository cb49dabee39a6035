/*!
 * \file tvmffi_cubin/core/device.h
 * \brief Devices: the capture mode, primary contexts, the scope that enters one, attributes.
 *
 * A CUdevice is the device's ordinal: all that the driver tells of contexts relies on it.
 */
#pragma once

#include <tvm/ffi/c_api.h>

#include "driver.h"

TVMFFI_CUBIN_BEGIN

/*!
 * \brief The relaxed capture mode for the calling thread, for the length of a scope.
 *
 * What loads or frees would otherwise be refused in a capture, and end it. Nothing of that is work
 * on a stream, so a graph lacks nothing without it. For slow paths: it takes two driver calls.
 */
class CaptureScope {
 public:
  CaptureScope() { entered_ = Exchange(); }
  ~CaptureScope() {
    if (entered_) Exchange();
  }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

 private:
  bool Exchange() { return entry::cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS; }

  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool entered_ = false;
};

/*! \brief Whether the driver refused a call because of a capture that is under way. */
inline bool IsCaptureRefusal(CUresult result) {
  return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
         result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

/*! \brief Primary contexts retained so far; unloading releases them, exit is no time to call. */
inline CUcontext primary_contexts[kMaxDevices];

/*! \brief Those that a thread has as its own for good (cudaSetDevice); they stay retained. */
inline bool contexts_kept[kMaxDevices];

/*! \brief The primary context of a device, retained at first use. */
Status PrimaryContext(int device, CUcontext* context);

/*!
 * \brief Releases a device's primary context, if it is retained and nobody's for good; the next
 * use retains it again. No launch there, of this shared object, may be under way.
 */
Status ReleasePrimaryContext(int device);

/*! \brief The device of the calling thread's context; 0 where it has none. */
inline int CurrentDevice() {
  CUdevice device = 0;
  return entry::cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : 0;
}

/*!
 * \brief Enters a device. Where the thread's context is on that device already, whichever context
 * it is, it stays: the caller's stream may belong to it.
 */
class DeviceScope {
 public:
  DeviceScope() = default;
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope() {
    CUcontext context = nullptr;
    if (has_pushed_) entry::cuCtxPopCurrent(&context);
  }

  Status Enter(int device) {
    CUdevice current = -1;
    if (entry::cuCtxGetDevice(&current) == CUDA_SUCCESS && current == device) return {};
    CUcontext context = nullptr;
    const Status status = PrimaryContext(device, &context);
    return status.ok() ? Enter(context) : status;
  }

  /*! \brief Enters a context. */
  Status Enter(CUcontext context) {
    const CUresult result = entry::cuCtxPushCurrent(context);
    if (result != CUDA_SUCCESS) return {result, "cuCtxPushCurrent"};
    has_pushed_ = true;
    return {};
  }

 private:
  bool has_pushed_ = false;
};

/*!
 * \brief Enters where a launch goes: its device; where none is chosen (-1) the stream's context, on
 * a default stream the current one, device 0's in a thread that has none.
 */
inline Status EnterLaunch(CUstream stream, int device, DeviceScope* scope) {
  if (device >= 0) return scope->Enter(device);
  CUcontext wanted = nullptr, current = nullptr;
  const bool has_current = entry::cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != nullptr;
  if (reinterpret_cast<uintptr_t>(stream) > 2) {  // 0, 1 and 2 are CUDA's default streams
    // Of a dead stream the launch itself says more.
    if (entry::cuStreamGetCtx(stream, &wanted) != CUDA_SUCCESS || wanted == current) return {};
    return scope->Enter(wanted);
  }
  return has_current ? Status() : scope->Enter(0);
}

/*! \brief A device attribute; -1 where the driver does not say. */
inline int DeviceAttribute(int device, CUdevice_attribute attribute) {
  int value = -1;
  const CUresult result = entry::cuDeviceGetAttribute(&value, attribute, device);
  return result == CUDA_SUCCESS ? value : -1;
}

/*! \brief A kernel's attribute on a device; -1 where the driver does not say. */
inline int KernelAttribute(CUkernel kernel, int device, CUfunction_attribute attribute) {
  int value = -1;
  const CUresult result = entry::cuKernelGetAttribute(&value, attribute, kernel, device);
  return result == CUDA_SUCCESS ? value : -1;
}

/*! \brief A device's architecture, 90 of sm_90. */
inline int DeviceArch(int device) {
  return 10 * DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

/*! \brief Whether a tensor that is not a device's lies in page-locked or managed memory. */
bool IsHostMemoryForKernels(const DLTensor& tensor);

/*! \brief Whether an address lies in a device's own memory, which would crash a host that reads. */
bool IsDeviceMemory(const void* address);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD Status PrimaryContext(int device, CUcontext* context) {
  if (device < 0 || device >= kMaxDevices) return {CUDA_ERROR_INVALID_DEVICE, "cuDeviceGet"};
  *context = __atomic_load_n(&primary_contexts[device], __ATOMIC_ACQUIRE);
  if (*context != nullptr) return {};
  CaptureScope relaxed;
  const CUresult result = entry::cuDevicePrimaryCtxRetain(context, device);
  if (result != CUDA_SUCCESS) return {result, "cuDevicePrimaryCtxRetain"};
  CUcontext none = nullptr;
  // Two threads may retain at once: one reference is enough, the loser's goes back.
  if (!__atomic_compare_exchange_n(&primary_contexts[device], &none, *context, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    entry::cuDevicePrimaryCtxRelease(device);
  }
  return {};
}

TVMFFI_CUBIN_COLD Status ReleasePrimaryContext(int device) {
  CUcontext* slot = &primary_contexts[device];
  if (__atomic_load_n(&contexts_kept[device], __ATOMIC_SEQ_CST)) return {};
  CUcontext context = __atomic_exchange_n(slot, static_cast<CUcontext>(nullptr), __ATOMIC_ACQ_REL);
  if (context == nullptr) return {};
  CaptureScope relaxed;
  const CUresult result = entry::cuDevicePrimaryCtxRelease(device);
  // Nothing is left to release where another reset the device, or the driver is going away.
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_CONTEXT ||
      result == CUDA_ERROR_DEINITIALIZED) {
    return {};
  }
  __atomic_store_n(slot, context, __ATOMIC_RELEASE);
  return {result, "cuDevicePrimaryCtxRelease"};
}

TVMFFI_CUBIN_COLD bool IsHostMemoryForKernels(const DLTensor& tensor) {
  const DLDeviceType where = tensor.device.device_type;
  if (where == kDLCUDAHost || where == kDLCUDAManaged) return true;
  if (where != kDLCPU || tensor.data == nullptr) return false;
  // Not its device pointer: the driver refuses to tell that in a thread without a context.
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  return entry::cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      reinterpret_cast<CUdeviceptr>(tensor.data)) == CUDA_SUCCESS;
}

TVMFFI_CUBIN_COLD bool IsDeviceMemory(const void* address) {
  const auto pointer = reinterpret_cast<CUdeviceptr>(address);
  CUmemorytype type = CU_MEMORYTYPE_HOST;  // the driver does not know the host's other memory
  entry::cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
  if (type != CU_MEMORYTYPE_DEVICE) return false;
  bool is_managed = false;
  entry::cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer);
  return !is_managed;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END
