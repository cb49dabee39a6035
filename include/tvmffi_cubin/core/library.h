/*!
 * \file tvmffi_cubin/core/library.h
 * \brief Images and kernels: loading, unloading, opting into limits, and what a driver's refusal of an image means.
 */
#ifndef TVMFFI_CUBIN_CORE_LIBRARY_H_
#define TVMFFI_CUBIN_CORE_LIBRARY_H_

#include "device.h"
#include "state.h"

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

TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetName, 12030)
TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetParamInfo, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryGetKernelCount, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryEnumerateKernels, 12040)

/*! \brief What EMBED_CUBIN's table says beside the bytes; empty where it is not known. */
struct ImageFacts {
  const char* arches = "";        // "sm_80, sm_90a, compute_90"
  const char* cuda_version = "";  // "12.9": of the compiler that made the image

  ImageFacts() = default;
  explicit ImageFacts(const void* const* table)
      : arches(static_cast<const char*>(table[2])),
        cuda_version(static_cast<const char*>(table[3])) {}
};

/*!
 * \brief Writes what is wrong with an image, to follow "the image ": "is for sm_80, device 0 is
 * sm_90: ...". False where the driver's answer is about something else.
 */
bool DescribeRefusal(const Driver* driver, CUresult result, const ImageFacts& facts, int device,
                     char* text, size_t size);

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

/*! \brief Writes the image's CUDA version, the driver's, and what helps; false where that fits. */
TVMFFI_CUBIN_COLD bool DescribeVersions(const Driver* driver, CUresult result,
                                        const ImageFacts& facts, char* text, size_t size) {
  int version = 0;
  driver->cuDriverGetVersion(&version);
  const int major = version / 1000, made_by = atoi(facts.cuda_version);
  const char* dot = strchr(facts.cuda_version, '.');
  const int minor = dot != nullptr ? atoi(dot + 1) : 0;
  const bool is_newer = 1000 * made_by + 10 * minor > version;
  if (!is_newer && result != CUDA_ERROR_UNSUPPORTED_PTX_VERSION) return false;
  char remedy[256] = "";
  if (made_by > major) {
    snprintf(remedy, sizeof(remedy),
             ", or compile with its CUDA: pip install 'tvmffi-cubin[cu%d]' and set "
             "TVMFFI_CUBIN_CUDA=%d",
             major, major);
  } else if (is_newer) {
    snprintf(remedy, sizeof(remedy),
             ", or compile a cubin for the device and not PTX: newer cubins of its own CUDA %d are "
             "for it, too",
             major);
  }
  snprintf(text, size, "was made by %s%s, the driver supports CUDA %d.%d: update the driver%s",
           made_by != 0 ? "CUDA " : "a newer CUDA", facts.cuda_version, major, version % 1000 / 10,
           remedy);
  return true;
}

TVMFFI_CUBIN_COLD bool DescribeRefusal(const Driver* driver, CUresult result,
                                       const ImageFacts& facts, int device, char* text,
                                       size_t size) {
  if (driver == nullptr || InForkedChild()) return false;
  const bool is_known = DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_WARP_SIZE) > 0;
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU && is_known) {
    snprintf(text, size, "is for %s, device %d is %s: compile it for that arch",
             facts.arches[0] != '\0' ? facts.arches : "another architecture", device,
             DescribeArch(driver, device).chars);
    return true;
  }
  // What a driver that is too old for an image may answer.
  const bool may_be_too_new = result == CUDA_ERROR_INVALID_IMAGE ||
                              result == CUDA_ERROR_INVALID_PTX ||
                              result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  return may_be_too_new && DescribeVersions(driver, result, facts, text, size);
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_LIBRARY_H_
