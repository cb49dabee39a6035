/*!
 * \file tvmffi_cubin/core/library.h
 * \brief Images and kernels: loading, unloading, and what a driver's refusal of an image means.
 */
#pragma once

#include "device.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryLoadFromFile, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetFunction, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuFuncLoad, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetName, 12030)
TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetParamInfo, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryGetKernelCount, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryEnumerateKernels, 12040)

/*!
 * \brief One image. A CUlibrary belongs to no context: it is loaded once a process and the driver
 * brings it to a device at the first launch there. Never unloads by itself.
 */
struct Library {
  const void* image = nullptr;
  CUlibrary handle = nullptr;
  int32_t lock = 0;

  /*! \brief Loads the image, or that in a file, unless it is loaded. */
  Status Load(const char* path = nullptr);

  /*!
   * \brief Unloads the image; a later Load loads it again, and where the driver refuses, a later
   * Unload tries again. No launch of it may be under way.
   */
  Status Unload();
};

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
bool DescribeRefusal(CUresult result, const ImageFacts& facts, int device, char* text, size_t size);

/*! \brief Loads a kernel in the current context. */
Status LoadHere(CUkernel kernel);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

/*!
 * \brief Whether something begins as what the driver loads. Under lazy loading it takes anything,
 * and what is wrong comes to light far from where it was given.
 */
inline bool LooksLikeImage(const void* image) {
  const char* text = static_cast<const char*>(image);
  const auto starts = [text](const char* magic) { return strncmp(text, magic, 4) == 0; };
  return starts("\177ELF") || starts("\x50\xED\x55\xBA") ||  // cubin, fatbin
         starts("\xB1\x43\x62\x46") ||                       // a fatbin's wrapper
         strstr(text, ".version") != nullptr;                // PTX, a text that ends in 0
}

TVMFFI_CUBIN_COLD Status Library::Load(const char* path) {
  if (__atomic_load_n(&handle, __ATOMIC_ACQUIRE) != nullptr) return {};
  const SpinLock hold(&lock);
  if (handle != nullptr) return {};
  CaptureScope relaxed;
  CUlibrary loaded = nullptr;
  Status status{CUDA_ERROR_INVALID_IMAGE, "cuLibraryLoadData"};
  if (path != nullptr) {
    status = {entry::cuLibraryLoadFromFile(&loaded, path, nullptr, nullptr, 0, nullptr, nullptr, 0),
              "cuLibraryLoadFromFile"};
  } else if (LooksLikeImage(image)) {
    status.result =
        entry::cuLibraryLoadData(&loaded, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  }
  if (status.ok()) __atomic_store_n(&handle, loaded, __ATOMIC_RELEASE);
  return status;
}

TVMFFI_CUBIN_COLD Status Library::Unload() {
  const SpinLock hold(&lock);
  if (handle == nullptr || !IsDriverOpen() || InForkedChild()) return {};
  CaptureScope relaxed;
  const CUresult result = entry::cuLibraryUnload(handle);
  // What was refused is still there, to be unloaded another time; a dead handle is not.
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_HANDLE ||
      result == CUDA_ERROR_DEINITIALIZED) {
    __atomic_store_n(&handle, nullptr, __ATOMIC_RELEASE);
  }
  return {result, "cuLibraryUnload"};
}

TVMFFI_CUBIN_COLD Status LoadHere(CUkernel kernel) {
  CaptureScope relaxed;
  CUfunction function = nullptr;
  const CUresult result = entry::cuKernelGetFunction(&function, kernel);
  // A driver before 12.4 cannot do more than this.
  if (result != CUDA_SUCCESS || entry::cuFuncLoad.Find() == nullptr) {
    return {result, "cuKernelGetFunction"};
  }
  return {entry::cuFuncLoad(function), "cuFuncLoad"};
}

TVMFFI_CUBIN_COLD bool DescribeRefusal(CUresult result, const ImageFacts& facts, int device,
                                       char* text, size_t size) {
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
    snprintf(text, size, "is for %s, device %d is sm_%d: compile it for that arch",
             facts.arches[0] != '\0' ? facts.arches : "another architecture", device,
             DeviceArch(device));
    return true;
  }
  // What a driver that is too old for an image answers, or for its PTX.
  if (result != CUDA_ERROR_INVALID_IMAGE && result != CUDA_ERROR_INVALID_PTX &&
      result != CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
    return false;
  }
  int version = 0;
  entry::cuDriverGetVersion(&version);
  const int major = version / 1000;
  const char* dot = strchr(facts.cuda_version, '.');
  const int made_by = 1000 * atoi(facts.cuda_version) + 10 * (dot ? atoi(dot + 1) : 0);
  if (made_by <= version && result != CUDA_ERROR_UNSUPPORTED_PTX_VERSION) return false;
  const int length = snprintf(
      text, size, "was made by %s%s, the driver supports CUDA %d.%d: update the driver",
      made_by != 0 ? "CUDA " : "a newer CUDA", facts.cuda_version, major, version % 1000 / 10);
  text += length, size -= static_cast<size_t>(length);
  if (made_by / 1000 > major) {
    snprintf(text, size,
             ", or compile with its CUDA: pip install 'tvmffi-cubin[cu%d]' and set "
             "TVMFFI_CUBIN_CUDA=%d",
             major, major);
  } else if (made_by > version) {
    snprintf(text, size, ", or compile a cubin for the device and not PTX");
  }
  return true;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END
