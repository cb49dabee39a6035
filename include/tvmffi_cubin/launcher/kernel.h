/*!
 * \file tvmffi_cubin/launcher/kernel.h
 * \brief One kernel of an embedded image: loaded at first use, launched, and its failures
 * explained.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_KERNEL_H_
#define TVMFFI_CUBIN_LAUNCHER_KERNEL_H_

#include "../image_refusal.h"
#include "../launch_limits.h"
#include "../library.h"
#include "error.h"
#include "plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Loads a kernel and its image unless they are. */
inline Status LoadKernel(const Driver* driver, EmbeddedKernel* kernel, CUkernel* out) {
  *out = __atomic_load_n(&kernel->handle, __ATOMIC_SEQ_CST);
  if (__builtin_expect(*out != nullptr, 1)) return {};
  EmbeddedImage* image = kernel->image;
  __atomic_store_n(&image->library.image, image->table[0], __ATOMIC_RELAXED);
  const Status status = image->library.Load(driver);
  if (!status.ok()) return status;
  const CUresult result = driver->cuLibraryGetKernel(out, image->library.handle, kernel->symbol);
  if (result != CUDA_SUCCESS) return {result, "cuLibraryGetKernel"};
  __atomic_store_n(&kernel->handle, *out, __ATOMIC_SEQ_CST);
  return {};
}

/*! \brief Keeps an image loaded for the length of a launch. */
class ImageUse {
 public:
  explicit ImageUse(EmbeddedImage* image) : image_(image) {
    // Both sides announce themselves first and look at the other second: one of them always sees.
    __atomic_fetch_add(&image_->launching, 1, __ATOMIC_SEQ_CST);
    while (__builtin_expect(__atomic_load_n(&image_->unloading, __ATOMIC_SEQ_CST) != 0, 0)) {
      __atomic_fetch_sub(&image_->launching, 1, __ATOMIC_SEQ_CST);
      usleep(20);
      __atomic_fetch_add(&image_->launching, 1, __ATOMIC_SEQ_CST);
    }
  }
  ~ImageUse() { __atomic_fetch_sub(&image_->launching, 1, __ATOMIC_SEQ_CST); }
  ImageUse(const ImageUse&) = delete;
  ImageUse& operator=(const ImageUse&) = delete;

 private:
  EmbeddedImage* image_;
};

/*! \brief How well code for "sm_90a" and the like goes with a device, which is 90; 0: not. */
inline int ArchFit(const char* arch, size_t length, int device) {
  int number = 0;
  for (size_t i = 0; i < length; ++i) {
    if (arch[i] >= '0' && arch[i] <= '9') number = 10 * number + (arch[i] - '0');
  }
  if (number > device || length == 0) return 0;
  if (arch[0] == 'c') return number;  // PTX, "compute_80": after all cubins
  const char last = arch[length - 1];
  if (number / 10 != device / 10 || (last == 'a' && number != device)) return 0;
  return 10000 + 3 * number + (last == 'a' ? 2 : last == 'f' ? 1 : 0);
}

/*! \brief How well the best of "sm_80, sm_90a, compute_90" goes with a device; each differently. */
inline int BestFit(const char* arches, int device) {
  int best = 0;
  while (*arches != '\0') {
    size_t length = 0;
    while (arches[length] != '\0' && arches[length] != ',') ++length;
    const int fit = ArchFit(arches, length, device);
    if (fit > best) best = fit;
    arches += length;
    while (*arches == ',' || *arches == ' ') ++arches;
  }
  return best;
}

/*! \brief Whether a refusal means that what a device takes of an image lacks a kernel. */
inline bool LacksKernel(const Driver* driver, const EmbeddedKernel& kernel, int device,
                        CUresult result) {
  if (kernel.arches == nullptr || result == CUDA_ERROR_NOT_FOUND) return kernel.arches != nullptr;
  // The driver says this of dead streams, too.
  if (result != CUDA_ERROR_INVALID_HANDLE) return false;
  const int arch =
      10 * DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
      DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  return BestFit(kernel.arches, arch) != BestFit(ImageFacts(kernel.image->table).arches, arch);
}

/*! \brief Raises what a failed load or launch means: limits and architectures by name. */
__attribute__((noinline, cold)) inline int FailLaunch(const char* function,
                                                      const EmbeddedKernel& kernel, int device,
                                                      const CUlaunchConfig* config,
                                                      const Status& status) {
  const Driver* driver = __atomic_load_n(&driver_state.ready, __ATOMIC_ACQUIRE);
  const EmbeddedImage& image = *kernel.image;
  Text text;
  DescribeStatus(status, text.chars, sizeof(text.chars));
  if (driver != nullptr && !InForkedChild()) {
    char meaning[640];
    if (config != nullptr && kernel.handle != nullptr &&
        FindLimit(driver, device, kernel.handle, *config, text.chars, sizeof(text.chars))) {
      return Fail("LaunchLimitError", "%s: launch of %s: %s", function, kernel.display, text.chars);
    }
    if (LacksKernel(driver, kernel, device, status.result)) {
      return Fail("LaunchError",
                  "%s: kernel %s is in the image %s for %s alone, device %d is %s: a condition "
                  "on the architecture leaves it out for others (%s)",
                  function, kernel.display, image.name, kernel.arches, device,
                  DescribeArch(driver, device).chars, text.chars);
    }
    if (DescribeRefusal(driver, status.result, ImageFacts(image.table), device, meaning,
                        sizeof(meaning))) {
      return Fail("LaunchError", "%s: the image %s %s (%s)", function, image.name, meaning,
                  text.chars);
    }
  }
  return Fail("LaunchError", "%s: kernel %s of image %s on device %d: %s", function, kernel.display,
              image.name, device, text.chars);
}

/*! \brief Launches; the device is current already. */
inline int LaunchKernel(const char* function, const Driver* driver, EmbeddedKernel* kernel,
                        int device, const CUlaunchConfig& config, void** params) {
  CUkernel handle = nullptr;
  Status status = LoadKernel(driver, kernel, &handle);
  if (!status.ok()) return FailLaunch(function, *kernel, device, nullptr, status);
  if (__builtin_expect(!kernel->smem.Covers(device, config.sharedMemBytes), 0)) {
    int most = -1;
    status = kernel->smem.Raise(driver, handle, device, &most);
    if (!status.ok()) return FailLaunch(function, *kernel, device, nullptr, status);
    if (!kernel->smem.Covers(device, config.sharedMemBytes)) {
      return Fail("LaunchLimitError",
                  "%s: launch of %s: dynamic_smem_bytes is %u, device %d allows "
                  "this kernel %d",
                  function, kernel->display, config.sharedMemBytes, device, most);
    }
  }
  // A CUkernel may be given where a CUfunction is asked for: the driver then takes the one of the
  // current context (CUDA driver API, cuLaunchKernelEx).
  const CUresult result =
      driver->cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(handle), params, nullptr);
  if (__builtin_expect(result != CUDA_SUCCESS, 0)) {
    return FailLaunch(function, *kernel, device, &config, {result, "cuLaunchKernelEx"});
  }
  return 0;
}

/*! \brief Unloads an image and forgets its kernels, once no launch of it is under way. */
inline Status UnloadImage(EmbeddedImage* image, EmbeddedKernel* kernels, int num_kernels) {
  // In a forked child the launches that other threads had begun never end; the driver refuses.
  if (InForkedChild() && image->library.handle != nullptr) {
    return {CUDA_ERROR_NOT_INITIALIZED, "cuLibraryUnload"};
  }
  int32_t idle = 0;
  while (!__atomic_compare_exchange_n(&image->unloading, &idle, 1, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
    idle = 0;
    usleep(20);
  }
  while (__atomic_load_n(&image->launching, __ATOMIC_SEQ_CST) != 0) usleep(20);
  for (int i = 0; i < num_kernels; ++i) {
    if (kernels[i].image != image) continue;
    __atomic_store_n(&kernels[i].handle, nullptr, __ATOMIC_SEQ_CST);
    kernels[i].smem.Reset();
  }
  const Status status = image->library.Unload();
  __atomic_store_n(&image->unloading, 0, __ATOMIC_SEQ_CST);
  return status;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_KERNEL_H_
