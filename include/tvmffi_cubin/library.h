/*!
 * \file tvmffi_cubin/library.h
 * \brief An image loaded at first use as a CUlibrary, and its kernels; no C++ library needed.
 */
#ifndef TVMFFI_CUBIN_LIBRARY_H_
#define TVMFFI_CUBIN_LIBRARY_H_

#include "cold.h"
#include "device_scope.h"
#include "library_state.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Holds a lock that is rarely contended and then for as long as an image takes to load. */
class SpinLock {
 public:
  explicit SpinLock(int32_t* lock) : lock_(lock) {
    while (__atomic_exchange_n(lock_, 1, __ATOMIC_ACQUIRE) != 0) usleep(20);
  }
  ~SpinLock() { __atomic_store_n(lock_, 0, __ATOMIC_RELEASE); }
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

 private:
  int32_t* lock_;
};

/*!
 * \brief Lets launches of a kernel on a device have `bytes` of dynamic shared memory. What others
 * count on, who hold the same kernel, stays: the limit is not lowered.
 */
Status RaiseDynamicSmem(const Driver* driver, CUkernel kernel, int device, int bytes);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD Status Library::Load(const Driver* driver) {
  if (__atomic_load_n(&handle, __ATOMIC_ACQUIRE) != nullptr) return {};
  SpinLock hold(&lock);
  if (handle != nullptr) return {};
  CaptureScope relaxed;
  CUlibrary loaded = nullptr;
  const CUresult result =
      driver->cuLibraryLoadData(&loaded, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result == CUDA_SUCCESS) __atomic_store_n(&handle, loaded, __ATOMIC_RELEASE);
  return {result, "cuLibraryLoadData"};
}

TVMFFI_CUBIN_COLD Status Library::Unload() {
  SpinLock hold(&lock);
  const Driver* driver = __atomic_load_n(&driver_state.ready, __ATOMIC_ACQUIRE);
  if (handle == nullptr || driver == nullptr) return {};
  CaptureScope relaxed;
  const CUresult result = driver->cuLibraryUnload(handle);
  // What was refused is still there, to be unloaded another time; a dead handle is not.
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_HANDLE ||
      result == CUDA_ERROR_DEINITIALIZED) {
    __atomic_store_n(&handle, nullptr, __ATOMIC_RELEASE);
  }
  return {result, "cuLibraryUnload"};
}

TVMFFI_CUBIN_COLD Status DynamicSmemLimits::Raise(const Driver* driver, CUkernel kernel, int device,
                                                  int* most) {
  CaptureScope relaxed;
  CUdevice handle = 0;
  int optin = 0, fixed = 0;
  CUresult result = driver->cuDeviceGet(&handle, device);
  if (result != CUDA_SUCCESS) return {result, "cuDeviceGet"};
  result = driver->cuDeviceGetAttribute(
      &optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, handle);
  if (result != CUDA_SUCCESS) return {result, "cuDeviceGetAttribute"};
  result =
      driver->cuKernelGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, handle);
  if (result != CUDA_SUCCESS) return {result, "cuKernelGetAttribute"};
  *most = optin - fixed;
  result = driver->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, *most,
                                        kernel, handle);
  if (result != CUDA_SUCCESS) return {result, "cuKernelSetAttribute"};
  if (device < kMaxDevices && *most > 0) {
    __atomic_store_n(&allowed[device], static_cast<uint32_t>(*most), __ATOMIC_RELAXED);
  }
  return {};
}

TVMFFI_CUBIN_COLD Status RaiseDynamicSmem(const Driver* driver, CUkernel kernel, int device,
                                          int bytes) {
  CaptureScope relaxed;
  constexpr auto kLimit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  CUdevice handle = 0;
  int now = 0;
  CUresult result = driver->cuDeviceGet(&handle, device);
  if (result != CUDA_SUCCESS) return {result, "cuDeviceGet"};
  result = driver->cuKernelGetAttribute(&now, kLimit, kernel, handle);
  if (result != CUDA_SUCCESS || bytes <= now) return {result, "cuKernelGetAttribute"};
  return {driver->cuKernelSetAttribute(kLimit, bytes, kernel, handle), "cuKernelSetAttribute"};
}

TVMFFI_CUBIN_COLD Status ClusterLimits::Allow(const Driver* driver, CUkernel kernel, int device) {
  CaptureScope relaxed;
  CUdevice handle = 0;
  CUresult result = driver->cuDeviceGet(&handle, device);
  if (result != CUDA_SUCCESS) return {result, "cuDeviceGet"};
  result = driver->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
                                        kernel, handle);
  if (result != CUDA_SUCCESS) return {result, "cuKernelSetAttribute"};
  if (device < kMaxDevices) __atomic_store_n(&allowed[device], uint8_t{1}, __ATOMIC_RELAXED);
  return {};
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LIBRARY_H_
