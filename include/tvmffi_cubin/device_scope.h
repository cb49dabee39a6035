/*!
 * \file tvmffi_cubin/device_scope.h
 * \brief Makes a device current for the length of a scope and leaves the caller's context as it
 * was.
 */
#ifndef TVMFFI_CUBIN_DEVICE_SCOPE_H_
#define TVMFFI_CUBIN_DEVICE_SCOPE_H_

#include "capture_scope.h"
#include "cold.h"
#include "driver.h"
#include "library_state.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Primary contexts retained so far; unloading releases them, exit is no time to call. */
inline CUcontext primary_contexts[kMaxDevices];

/*! \brief Those that a thread has as its own for good (cudaSetDevice); they stay retained. */
inline bool contexts_kept[kMaxDevices];

/*! \brief The primary context of a device, retained at first use. */
Status PrimaryContext(const Driver* driver, int device, CUcontext* context);

/*!
 * \brief Releases a device's primary context, if it is retained and nobody's for good; the next
 * use retains it again. No launch there, of this shared object, may be under way.
 */
Status ReleasePrimaryContext(const Driver* driver, int device);

/*! \brief The device of the calling thread's context; 0 where it has none. */
inline int CurrentDevice(const Driver* driver) {
  CUdevice device = 0;
  return driver->cuCtxGetDevice(&device) == CUDA_SUCCESS ? static_cast<int>(device) : 0;
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
  ~DeviceScope() { Leave(); }

  Status Enter(const Driver* driver, int device) {
    CUdevice current = -1;
    if (driver->cuCtxGetDevice(&current) == CUDA_SUCCESS && current == device) return {};
    CUcontext context = nullptr;
    const Status status = PrimaryContext(driver, device, &context);
    return status.ok() ? Enter(driver, context) : status;
  }

  /*! \brief Enters a context. */
  Status Enter(const Driver* driver, CUcontext context) {
    const CUresult result = driver->cuCtxPushCurrent(context);
    if (result != CUDA_SUCCESS) return {result, "cuCtxPushCurrent"};
    pushed_on_ = driver;
    return {};
  }

  /*! \brief Makes current what was before; tried again, since the caller's context is at stake. */
  Status Leave() {
    if (pushed_on_ == nullptr) return {};
    const Driver* driver = pushed_on_;
    pushed_on_ = nullptr;
    CUcontext context = nullptr;
    if (driver->cuCtxPopCurrent(&context) == CUDA_SUCCESS) return {};
    return {driver->cuCtxPopCurrent(&context), "cuCtxPopCurrent"};
  }

 private:
  const Driver* pushed_on_ = nullptr;
};

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD Status PrimaryContext(const Driver* driver, int device, CUcontext* context) {
  if (device < 0 || device >= kMaxDevices) return {CUDA_ERROR_INVALID_DEVICE, "cuDeviceGet"};
  *context = __atomic_load_n(&primary_contexts[device], __ATOMIC_ACQUIRE);
  if (*context != nullptr) return {};
  CaptureScope relaxed;
  CUdevice handle = 0;
  CUresult result = driver->cuDeviceGet(&handle, device);
  if (result != CUDA_SUCCESS) return {result, "cuDeviceGet"};
  result = driver->cuDevicePrimaryCtxRetain(context, handle);
  if (result != CUDA_SUCCESS) return {result, "cuDevicePrimaryCtxRetain"};
  CUcontext none = nullptr;
  // Two threads may retain at once: one reference is enough, the loser's goes back.
  if (!__atomic_compare_exchange_n(&primary_contexts[device], &none, *context, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    driver->cuDevicePrimaryCtxRelease(handle);
  }
  return {};
}

TVMFFI_CUBIN_COLD Status ReleasePrimaryContext(const Driver* driver, int device) {
  CUcontext* slot = &primary_contexts[device];
  if (__atomic_load_n(&contexts_kept[device], __ATOMIC_SEQ_CST)) return {};
  CUcontext context = __atomic_exchange_n(slot, static_cast<CUcontext>(nullptr), __ATOMIC_ACQ_REL);
  if (context == nullptr) return {};
  CaptureScope relaxed;
  CUdevice handle = 0;
  const char* call = "cuDeviceGet";
  CUresult result = driver->cuDeviceGet(&handle, device);
  if (result == CUDA_SUCCESS) {
    call = "cuDevicePrimaryCtxRelease";
    result = driver->cuDevicePrimaryCtxRelease(handle);
  }
  if (result == CUDA_SUCCESS) return {};
  // Nothing is left to release where another reset the device, or the driver is going away.
  if (result != CUDA_ERROR_INVALID_CONTEXT && result != CUDA_ERROR_DEINITIALIZED) {
    __atomic_store_n(slot, context, __ATOMIC_RELEASE);
  }
  return {result, call};
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_DEVICE_SCOPE_H_
