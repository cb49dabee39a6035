/*!
 * \file tvmffi_cubin/core/library.h
 * \brief Images and kernels: loading, unloading, and what a driver's refusal of an image means.
 */
#pragma once

#include "device.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryLoadData, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryLoadFromFile, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryUnload, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryGetKernel, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryGetKernelCount, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryEnumerateKernels, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetAttribute, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetFunction, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetName, 12030)
TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetParamInfo, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuFuncLoad, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLaunchKernelEx, 12000)

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

/*! \brief A kernel's attribute on a device; -1 where the driver does not say. */
inline int KernelAttribute(CUkernel kernel, int device, CUfunction_attribute attribute) {
  int value = -1;
  const CUresult result = entry::cuKernelGetAttribute(&value, attribute, kernel, device);
  return result == CUDA_SUCCESS ? value : -1;
}

/*! \brief A kernel's name in its image; "a kernel" where the driver is too old to say. */
inline const char* KernelName(CUkernel kernel) {
  const char* name = nullptr;
  const bool known = entry::cuKernelGetName(&name, kernel) == CUDA_SUCCESS && name != nullptr;
  return known ? name : "a kernel";
}

/*! \brief The size of a parameter in bytes; 0 where there is none, or the driver does not tell. */
inline size_t ParameterSize(CUkernel kernel, int number) {
  size_t offset = 0, size = 0;
  entry::cuKernelGetParamInfo(kernel, static_cast<size_t>(number), &offset, &size);
  return size;
}

/*! \brief How many parameters a kernel has; -1 where the driver, which tells from CUDA 12.4 on,
 * does not. */
int CountParameters(CUkernel kernel);

/*! \brief Launches on the current device. */
inline Status LaunchKernel(CUkernel kernel, const CUlaunchConfig& config, void** args) {
  // A CUkernel may stand for a CUfunction: the driver takes that of the stream's context, of the
  // current one on a default stream (CUDA driver API, cuLaunchKernelEx).
  const auto function = reinterpret_cast<CUfunction>(kernel);
  return {entry::cuLaunchKernelEx(&config, function, args, nullptr), "cuLaunchKernelEx"};
}

/*! \brief Loads a kernel in the current context. */
Status LoadHere(CUkernel kernel);

/*! \brief Writes "a, b, c", the kernels of an image as far as the driver tells and there is room.
 */
void ListKernels(CUlibrary library, char* text, size_t size);

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
  CUresult result = CUDA_ERROR_INVALID_IMAGE;
  if (path != nullptr) {
    result = entry::cuLibraryLoadFromFile(&loaded, path, nullptr, nullptr, 0, nullptr, nullptr, 0);
  } else if (LooksLikeImage(image)) {
    result = entry::cuLibraryLoadData(&loaded, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  }
  if (result == CUDA_SUCCESS) __atomic_store_n(&handle, loaded, __ATOMIC_RELEASE);
  return {result, path != nullptr ? "cuLibraryLoadFromFile" : "cuLibraryLoadData"};
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

TVMFFI_CUBIN_COLD int CountParameters(CUkernel kernel) {
  CaptureScope relaxed;
  size_t count = 0, offset = 0, size = 0;
  CUresult result = CUDA_SUCCESS;
  for (;; ++count) {
    result = entry::cuKernelGetParamInfo(kernel, count, &offset, &size);
    if (result != CUDA_SUCCESS) break;
  }
  // What it says of the one past the last.
  return result == CUDA_ERROR_INVALID_VALUE ? static_cast<int>(count) : -1;
}

TVMFFI_CUBIN_COLD void ListKernels(CUlibrary library, char* text, size_t size) {
  CUkernel kernels[256];
  unsigned count = 0;
  entry::cuLibraryGetKernelCount(&count, library);
  if (count > 256) count = 256;
  text[0] = '\0';
  if (entry::cuLibraryEnumerateKernels(kernels, count, library) != CUDA_SUCCESS) return;
  for (unsigned i = 0; i < count; ++i) {
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", i == 0 ? "" : ", ", KernelName(kernels[i]));
  }
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
  const bool is_ptx = result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  if (!is_ptx && result != CUDA_ERROR_INVALID_IMAGE && result != CUDA_ERROR_INVALID_PTX) {
    return false;
  }
  const int version = driver_state.version;
  const char* dot = strchr(facts.cuda_version, '.');
  const int made_by = 1000 * atoi(facts.cuda_version) + 10 * (dot ? atoi(dot + 1) : 0);
  if (made_by <= version && !is_ptx) return false;
  snprintf(text, size,
           "was made by %s%s, the driver supports CUDA %d.%d: update the driver, or compile a "
           "cubin with a CUDA that it supports",
           made_by != 0 ? "CUDA " : "a newer CUDA", facts.cuda_version, version / 1000,
           version % 1000 / 10);
  return true;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END
