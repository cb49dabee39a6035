// Images and kernels of a module, loaded on first use: embedded, or in a file, which may have to be
// made first.
#pragma once

#include "error.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxSetCurrent, 12000)

TVMFFI_CUBIN_COLD Text PathOf(const EmbeddedImage& image) {
  Text path;
  Dl_info found{};
  const char* folder = __atomic_load_n(&image.folder, __ATOMIC_ACQUIRE);
  if (image.path[0] != '/' && folder != nullptr) {
    path.Add("%s/", folder);
  } else if (image.path[0] != '/' && dladdr(&image, &found) != 0) {
    const char* last = strrchr(found.dli_fname, '/');
    const int length = last == nullptr ? 0 : static_cast<int>(last - found.dli_fname + 1);
    path.Add("%.*s", length, found.dli_fname);
  }
  path.Add("%s", image.path);
  return path;
}

// Calls the maker of an image's file; raises and returns -1 if there is none or it fails.
TVMFFI_CUBIN_COLD int MakeFile(const EmbeddedImage& image, const char* path) {
  TVMFFIObject* const maker = __atomic_load_n(&image.maker, __ATOMIC_ACQUIRE);
  if (maker == nullptr) {
    return Fail("LaunchError",
                "%s is missing: create it, or generate it with load_module(path, "
                "generate={\"%s\": ...})",
                path, image.name);
  }
  TVMFFIAny args[2]{}, result{};
  args[0].type_index = args[1].type_index = kTVMFFIRawStr;
  args[0].v_c_str = image.name;
  args[1].v_c_str = path;
  CUcontext context = nullptr;
  entry::cuCtxGetCurrent(&context);
  const int code = TVMFFIFunctionCall(maker, args, 2, &result);
  // The maker may have changed the current device.
  entry::cuCtxSetCurrent(context);
  if (code == 0 && result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
  return code;
}

// Loads an image unless it is loaded: embedded, or from a file, which is made first if it is
// missing. No lock is held meanwhile: making it may run Python, for minutes.
TVMFFI_CUBIN_COLD Status LoadImage(EmbeddedImage* image) {
  if (__atomic_load_n(&image->library.handle, __ATOMIC_ACQUIRE) != nullptr) return {};
  if (image->path == nullptr) return image->library.Load();
  const Text path = PathOf(*image);
  if (access(path.chars, F_OK) != 0 && MakeFile(*image, path.chars) != 0) return Raised(-1);
  return image->library.Load(path.chars);
}

// Finds the one kernel whose name contains `kernel.symbol`, as the build does for an image that it
// sees: names that a compiler has numbered after that, such as `k_1`, count only if there are no
// others.
TVMFFI_CUBIN_COLD Status FindByPart(const EmbeddedKernel& kernel, CUkernel* out) {
  CUkernel kernels[kMostKernels];
  const unsigned count = kernel.image->library.GetKernels(kernels);
  unsigned num_found = 0, num_plain = 0;
  for (unsigned i = 0; i < count; ++i) {
    const char* rest = strstr(KernelName(kernels[i]), kernel.symbol);
    if (rest == nullptr) continue;
    rest += strlen(kernel.symbol);
    while ((rest = strchr(rest, '_')) != nullptr && !(rest[1] >= '1' && rest[1] <= '9')) ++rest;
    if (rest == nullptr) ++num_plain;
    if (rest == nullptr || num_plain == 0) *out = kernels[i];
    ++num_found;
  }
  if (num_plain == 1 || num_found == 1) return {};
  Text all;
  kernel.image->library.AddKernels(&all);
  return Raised(Fail("LaunchError", "%s has %s kernel %s: set Launch(kernel=...) to one of %s",
                     PathOf(*kernel.image).chars, num_found != 0 ? "more than one" : "no",
                     kernel.symbol, all.chars));
}

// Checks that a kernel in a file takes what was declared and is passed.
TVMFFI_CUBIN_COLD Status CheckParams(const EmbeddedKernel& kernel, CUkernel handle) {
  const int count = CountParameters(handle);
  if (count < 0) return {CUDA_ERROR_NOT_FOUND, "cuKernelGetParamInfo"};
  for (int i = 0; i < count; ++i) {
    const size_t size = ParameterSize(handle, i);
    const size_t declared = i < static_cast<int>(kernel.num_params) ? kernel.params[i] : 0;
    if (size == declared) continue;
    return Raised(Fail("LaunchError",
                       "kernel %s in %s: parameter %d has %zu bytes, but %zu are declared",
                       kernel.display, PathOf(*kernel.image).chars, i + 1, size, declared));
  }
  return {};
}

// Whether an error means that the image lacks the kernel for this architecture.
TVMFFI_CUBIN_COLD bool LacksKernel(const EmbeddedKernel& kernel, CUresult result) {
  return kernel.arches != nullptr &&
         (result == CUDA_ERROR_NOT_FOUND || result == CUDA_ERROR_INVALID_HANDLE);
}

// Raises an error for a kernel whose load or launch failed, with what that means. `label` starts
// the message: "f", "f: launch 2 of 3".
TVMFFI_CUBIN_COLD int FailKernel(const char* label, const EmbeddedKernel& kernel, int device,
                                 const Status& status) {
  if (status.call == kRaised) return -1;
  const EmbeddedImage& image = *kernel.image;
  const Text reason = DescribeStatus(status);
  Text found;
  if (image.library.AddRefusal(status.result, device, &found)) {
    return Fail("LaunchError", "%s: the image %s %s (%s)", label, image.name, found.chars,
                reason.chars);
  }
  if (LacksKernel(kernel, status.result)) {
    found.Add(". The image has it only for %s, by a condition on the architecture; this is sm_%d",
              kernel.arches, DeviceArch(device));
  }
  return Fail("LaunchError", "%s: kernel %s of image %s on device %d: %s%s", label, kernel.display,
              image.name, device, reason.chars, found.chars);
}

TVMFFI_CUBIN_COLD Status LoadKernelNow(EmbeddedKernel* kernel) {
  CaptureScope relaxed;
  Status status = LoadImage(kernel->image);
  if (!status.ok()) return status;
  CUkernel handle = nullptr;
  const CUlibrary library = kernel->image->library.handle;
  status = {entry::cuLibraryGetKernel(&handle, library, kernel->symbol), "cuLibraryGetKernel"};
  if (kernel->image->path != nullptr) {
    if (status.result == CUDA_ERROR_NOT_FOUND) status = FindByPart(*kernel, &handle);
    if (status.ok()) status = CheckParams(*kernel, handle);
  }
  if (status.ok()) __atomic_store_n(&kernel->handle, handle, __ATOMIC_SEQ_CST);
  return status;
}

// Loads a kernel and its image if needed, and opts in. The device must be current and the image's
// gate in use.
inline Status LoadKernel(EmbeddedKernel* kernel, int device) {
  const bool is_loaded = __atomic_load_n(&kernel->handle, __ATOMIC_SEQ_CST) != nullptr;
  const Status status = __builtin_expect(is_loaded, 1) ? Status() : LoadKernelNow(kernel);
  return status.ok() ? kernel->opted_in.Ensure(kernel->handle, device) : status;
}

// Finds how much of a kernel fits on a device at once; loads it. The image's gate is in use.
TVMFFI_CUBIN_COLD Status OccupancyOf(EmbeddedKernel* kernel, int device,
                                     const CUlaunchConfig& config, Occupancy* found) {
  DeviceScope scope;
  Status status = scope.Enter(device);
  if (status.ok()) status = LoadKernel(kernel, device);
  return status.ok() ? FindOccupancy(kernel->handle, device, config, found) : status;
}

TVMFFI_CUBIN_END
