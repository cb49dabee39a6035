/*!
 * \file tvmffi_cubin/library.h
 * \brief An image loaded at first use as a CUlibrary, and its kernels; no C++ library needed.
 */
#ifndef TVMFFI_CUBIN_LIBRARY_H_
#define TVMFFI_CUBIN_LIBRARY_H_

#include <stdint.h>

#include "device_scope.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief One image. A CUlibrary belongs to no context: it is loaded once a process and the driver
 * brings it to a device at the first launch there. Constant-initialised; never unloads by itself.
 */
struct Library {
  const void* image;
  CUlibrary handle = nullptr;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

  /*! \brief Loads the image unless it is loaded. */
  Status Load(const Driver* driver) {
    if (__atomic_load_n(&handle, __ATOMIC_ACQUIRE) != nullptr) return {};
    pthread_mutex_lock(&mutex);
    CUresult result = CUDA_SUCCESS;
    if (handle == nullptr) {
      CUlibrary loaded = nullptr;
      result = driver->cuLibraryLoadData(&loaded, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
      if (result == CUDA_SUCCESS) __atomic_store_n(&handle, loaded, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&mutex);
    return {result, "cuLibraryLoadData"};
  }

  /*! \brief Unloads the image; a later Load loads it again. No launch of it may be under way. */
  Status Unload() {
    pthread_mutex_lock(&mutex);
    CUlibrary loaded = handle;
    __atomic_store_n(&handle, nullptr, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&mutex);
    const Driver* driver = __atomic_load_n(&driver_state.ready, __ATOMIC_ACQUIRE);
    if (loaded == nullptr || driver == nullptr) return {};
    return {driver->cuLibraryUnload(loaded), "cuLibraryUnload"};
  }
};

/*!
 * \brief The dynamic shared memory that each device lets a kernel have, in bytes; what is above the
 * 48 KB that every kernel has is opted into once a device, up to the device's limit.
 */
struct DynamicSmemLimits {
  int32_t allowed[kMaxDevices];

  /*! \brief Whether `bytes` are allowed already (0 is, always). */
  bool Covers(int device, uint32_t bytes) const {
    return bytes == 0 || (device < kMaxDevices &&
                          static_cast<int64_t>(bytes) <=
                              __atomic_load_n(&allowed[device], __ATOMIC_RELAXED));
  }

  /*!
   * \brief Opts `kernel` into all that the device has beside the kernel's static shared memory, so
   * that launches of different sizes from several threads never lower each other's limit.
   * \param[out] most The largest dynamic size possible there, set where known.
   */
  Status Raise(const Driver* driver, CUkernel kernel, int device, int* most) {
    CUdevice handle = 0;
    int optin = 0, fixed = 0;
    CUresult result = driver->cuDeviceGet(&handle, device);
    if (result != CUDA_SUCCESS) return {result, "cuDeviceGet"};
    result = driver->cuDeviceGetAttribute(
        &optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, handle);
    if (result != CUDA_SUCCESS) return {result, "cuDeviceGetAttribute"};
    result = driver->cuKernelGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel,
                                          handle);
    if (result != CUDA_SUCCESS) return {result, "cuKernelGetAttribute"};
    *most = optin - fixed;
    result = driver->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, *most,
                                          kernel, handle);
    if (result != CUDA_SUCCESS) return {result, "cuKernelSetAttribute"};
    if (device < kMaxDevices) __atomic_store_n(&allowed[device], *most, __ATOMIC_RELAXED);
    return {};
  }
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LIBRARY_H_
