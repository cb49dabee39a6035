/*!
 * \file tvmffi_cubin/launcher/kernel.h
 * \brief One kernel: loaded at first use, its failures explained, and what of it fits a device.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_KERNEL_H_
#define TVMFFI_CUBIN_LAUNCHER_KERNEL_H_

#include "../core/limits.h"
#include "file.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief Whether a refusal means that an image has a kernel for other architectures alone than that
 * of the current device.
 */
TVMFFI_CUBIN_RARE bool LacksKernel(const EmbeddedKernel& kernel, CUresult result) {
  if (kernel.arches == nullptr) return false;
  // The driver says the latter of dead streams, too.
  return result == CUDA_ERROR_NOT_FOUND ||
         (result == CUDA_ERROR_INVALID_HANDLE && !LoadHere(kernel.handle).ok());
}

/*!
 * \brief Raises what a failed load or launch means: limits and architectures by name.
 * \param label Of what: "f", "f: launch 2 of 3".
 * \param config Of the launch that was refused; null of what came before.
 */
TVMFFI_CUBIN_RARE int FailKernel(const char* label, const EmbeddedKernel& kernel, int device,
                                 const CUlaunchConfig* config, const Status& status) {
  if (status.call == kRaised) return -1;
  const Driver* driver = __atomic_load_n(&driver_state.ready, __ATOMIC_ACQUIRE);
  const EmbeddedImage& image = *kernel.image;
  TextOf<640> text, meaning;
  DescribeStatus(status, text.chars, sizeof(text.chars));
  if (driver != nullptr && !InForkedChild()) {
    if (config != nullptr && kernel.handle != nullptr &&
        FindRefusal(driver, device, kernel.handle, *config, status.result, text.chars,
                    sizeof(text.chars))) {
      return Fail("LaunchLimitError", "%s: launch of %s: %s", label, kernel.display, text.chars);
    }
    if (LacksKernel(kernel, status.result)) {
      return Fail("LaunchError",
                  "%s: kernel %s is in the image %s for %s alone, device %d is %s: a condition on "
                  "the architecture leaves it out for others (%s)",
                  label, kernel.display, image.name, kernel.arches, device,
                  DescribeArch(driver, device).chars, text.chars);
    }
    if (DescribeRefusal(driver, status.result, ImageFacts(image.table), device, meaning.chars,
                        sizeof(meaning.chars))) {
      return Fail("LaunchError", "%s: the image %s %s (%s)", label, image.name, meaning.chars,
                  text.chars);
    }
  }
  const bool is_captured = IsCaptureRefusal(status.result);
  return Fail("LaunchError", "%s: kernel %s of image %s on device %d: %s%s", label, kernel.display,
              image.name, device, text.chars,
              is_captured ? ". A CUDA graph is being captured: launch on the stream that it is "
                            "captured on, and call mod.preload() before the capture"
                          : "");
}

/*! \brief Loads a kernel, and its image where that is not loaded. */
TVMFFI_CUBIN_RARE Status LoadKernelNow(const Driver* driver, EmbeddedKernel* kernel) {
  CaptureScope relaxed;
  EmbeddedImage* image = kernel->image;
  CUkernel handle = nullptr;
  Status status;
  if (image->path != nullptr) {
    status = LoadFileKernel(driver, kernel, &handle);
  } else {
    __atomic_store_n(&image->library.image, image->table[0], __ATOMIC_RELAXED);
    status = image->library.Load(driver);
    if (!status.ok()) return status;
    status = {driver->cuLibraryGetKernel(&handle, image->library.handle, kernel->symbol),
              "cuLibraryGetKernel"};
  }
  if (status.ok()) __atomic_store_n(&kernel->handle, handle, __ATOMIC_SEQ_CST);
  return status;
}

/*! \brief Loads a kernel and its image unless they are. */
inline Status LoadKernel(const Driver* driver, EmbeddedKernel* kernel) {
  const bool is_loaded = __atomic_load_n(&kernel->handle, __ATOMIC_SEQ_CST) != nullptr;
  return __builtin_expect(is_loaded, 1) ? Status() : LoadKernelNow(driver, kernel);
}

/*! \brief Finds what of a kernel fits a device at once; loads it, and its image is in use. */
TVMFFI_CUBIN_RARE Status OccupancyOf(const Driver* driver, EmbeddedKernel* kernel, int device,
                                     const CUlaunchConfig& config, Occupancy* found) {
  DeviceScope scope;
  Status status = scope.Enter(driver, device);
  if (status.ok()) status = LoadKernel(driver, kernel);
  if (!status.ok()) return status;
  return FindOccupancy(driver, kernel->handle, device, config, found, &kernel->limits);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_KERNEL_H_
