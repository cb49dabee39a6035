// Images and kernels: loading, unloading, what the driver reports, and why it rejects one.
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
TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetName, 12030)
TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetParamInfo, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLaunchKernelEx, 12000)

// A kernel's attribute on a device; -1 if the driver does not report it.
inline int KernelAttribute(CUkernel kernel, int device, CUfunction_attribute attribute) {
  int value = -1;
  const CUresult result = entry::cuKernelGetAttribute(&value, attribute, kernel, device);
  return result == CUDA_SUCCESS ? value : -1;
}

// A kernel's name in its image; "a kernel" if the driver is too old to report it.
inline const char* KernelName(CUkernel kernel) {
  const char* name = nullptr;
  const bool known = entry::cuKernelGetName(&name, kernel) == CUDA_SUCCESS && name != nullptr;
  return known ? name : "a kernel";
}

// The size of a parameter in bytes; 0 if there is none, or the driver does not report it.
inline size_t ParameterSize(CUkernel kernel, int number) {
  size_t offset = 0, size = 0;
  entry::cuKernelGetParamInfo(kernel, static_cast<size_t>(number), &offset, &size);
  return size;
}

// The number of a kernel's parameters; -1 if the driver does not report it, as before CUDA 12.4.
TVMFFI_CUBIN_COLD int CountParameters(CUkernel kernel) {
  CaptureScope relaxed;
  size_t count = 0, offset = 0, size = 0;
  CUresult result = CUDA_SUCCESS;
  while ((result = entry::cuKernelGetParamInfo(kernel, count, &offset, &size)) == CUDA_SUCCESS) {
    ++count;
  }
  // The driver's result for the index past the last.
  return result == CUDA_ERROR_INVALID_VALUE ? static_cast<int>(count) : -1;
}

inline constexpr char kLaunchCall[] = "cuLaunchKernelEx";

// Launches on the current device, or the stream's. A CUkernel may be passed as a CUfunction (CUDA
// driver API, cuLaunchKernelEx).
inline Status LaunchKernel(CUkernel kernel, const CUlaunchConfig& config, void** args) {
  const auto function = reinterpret_cast<CUfunction>(kernel);
  return {entry::cuLaunchKernelEx(&config, function, args, nullptr), kLaunchCall};
}

// Maximum number of an image's kernels that are searched.
constexpr unsigned kMostKernels = 1024;

// One image. A CUlibrary belongs to no context: it is loaded once per process, for all devices.
// Never unloads automatically.
struct Library {
  const void* const* table = nullptr;  // EMBED_CUBIN's; null if the image is not embedded
  const void* image = nullptr;         // if there is no table
  CUlibrary handle = nullptr;
  Gate gate;  // one thread at a time loads or unloads

  // Loads the image, or the one in a file, unless it is loaded.
  TVMFFI_CUBIN_COLD Status Load(const char* path = nullptr) {
    if (__atomic_load_n(&handle, __ATOMIC_ACQUIRE) != nullptr) return {};
    const GateClosed alone(&gate);
    if (handle != nullptr) return {};
    CaptureScope relaxed;
    CUlibrary loaded = nullptr;
    const void* data = table != nullptr ? table[0] : image;
    const CUresult result =
        path != nullptr
            ? entry::cuLibraryLoadFromFile(&loaded, path, nullptr, nullptr, 0, nullptr, nullptr, 0)
            : entry::cuLibraryLoadData(&loaded, data, nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (result == CUDA_SUCCESS) __atomic_store_n(&handle, loaded, __ATOMIC_RELEASE);
    return {result, path != nullptr ? "cuLibraryLoadFromFile" : "cuLibraryLoadData"};
  }

  // Unloads the image; no launch of it may be in progress.
  TVMFFI_CUBIN_COLD Status Unload() {
    const GateClosed alone(&gate);
    if (handle == nullptr) return {};
    CaptureScope relaxed;
    const CUresult result = entry::cuLibraryUnload(handle);
    __atomic_store_n(&handle, nullptr, __ATOMIC_RELEASE);
    return {result, "cuLibraryUnload"};
  }

  // Gets the image's kernels, as far as the driver reports them and they fit; returns how many.
  TVMFFI_CUBIN_COLD unsigned GetKernels(CUkernel (&kernels)[kMostKernels]) const {
    unsigned count = 0;
    entry::cuLibraryGetKernelCount(&count, handle);
    if (count > kMostKernels) count = kMostKernels;
    return entry::cuLibraryEnumerateKernels(kernels, count, handle) == CUDA_SUCCESS ? count : 0;
  }

  // Adds their names: "a, b, c".
  TVMFFI_CUBIN_COLD void AddKernels(Text* text) const {
    CUkernel kernels[kMostKernels];
    const unsigned count = GetKernels(kernels);
    for (unsigned i = 0; i < count; ++i) {
      text->Add("%s%s", i == 0 ? "" : ", ", KernelName(kernels[i]));
    }
  }

  // Adds what is wrong with the image, to follow "the image ": "is for sm_80, but device 0 ...".
  // False if the driver's result is about something else.
  TVMFFI_CUBIN_COLD bool AddRefusal(CUresult result, int device, Text* text) const {
    const char* arches = table != nullptr ? static_cast<const char*>(table[2]) : "";
    const char* made_with = table != nullptr ? static_cast<const char*>(table[3]) : "";
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
      return text->Add("is for %s, but device %d is sm_%d: compile it for that arch",
                       arches[0] != '\0' ? arches : "another architecture", device,
                       DeviceArch(device));
    }
    const char* dot = strchr(made_with, '.');
    const int made_by = 1000 * atoi(made_with) + 10 * (dot != nullptr ? atoi(dot + 1) : 0);
    const int version = driver_state.version;
    // The results of a driver that is too old for an image or its PTX.
    const bool is_refused = result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_INVALID_PTX;
    return ((is_refused && made_by > version) || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) &&
           text->Add(
               "was built with CUDA %s, but the driver supports CUDA %d.%d: update the driver, or "
               "compile a cubin with a CUDA version that it supports",
               made_by != 0 ? made_with : "of a newer version", version / 1000,
               version % 1000 / 10);
  }
};

// Adds what is wrong with an image that the driver rejects, or that has no kernel `name`.
TVMFFI_CUBIN_COLD void AddImageError(const Library& library, const Status& status, const char* name,
                                     Text* text) {
  text->Add("the image ");
  if (library.AddRefusal(status.result, CurrentDevice(), text)) return;
  if (status.result == CUDA_ERROR_INVALID_IMAGE) {
    text->Add("is damaged, or not a cubin, fatbin or PTX");
  } else if (library.handle == nullptr) {
    text->Add("cannot be loaded");
  } else {
    text->Add("has no kernel '%s'; available: ", name);
    library.AddKernels(text);
  }
}

TVMFFI_CUBIN_END
