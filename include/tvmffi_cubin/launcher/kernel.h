/*!
 * \file tvmffi_cubin/launcher/kernel.h
 * \brief One kernel of an embedded image: loaded at first use, launched, and its failures
 * explained.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_KERNEL_H_
#define TVMFFI_CUBIN_LAUNCHER_KERNEL_H_

#include "../library.h"
#include "limits.h"

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

/*! \brief Launches; the device is current already. */
inline int LaunchKernel(const LaunchSite& site, const Driver* driver, EmbeddedKernel* kernel,
                        int device, const CUlaunchConfig& config, void** params) {
  CUkernel handle = nullptr;
  Status status = LoadKernel(driver, kernel, &handle);
  if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
  if (__builtin_expect(!kernel->smem.Covers(device, config.sharedMemBytes), 0)) {
    int most = -1;
    status = kernel->smem.Raise(driver, handle, device, &most);
    if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
    if (!kernel->smem.Covers(device, config.sharedMemBytes)) {
      return Fail("LaunchLimitError",
                  "%s: launch of %s: dynamic_smem_bytes is %u, device %d allows "
                  "this kernel %d",
                  SiteText(site).chars, kernel->display, config.sharedMemBytes, device, most);
    }
  }
  if (__builtin_expect(!IsUnlimited(*kernel, config), 0) &&
      CheckLimits(site, driver, kernel, device, config) != 0) {
    return -1;
  }
  // A CUkernel may be given where a CUfunction is asked for: the driver then takes the one of the
  // current context (CUDA driver API, cuLaunchKernelEx).
  const CUresult result =
      driver->cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(handle), params, nullptr);
  if (__builtin_expect(result != CUDA_SUCCESS, 0)) {
    return FailLaunch(site, *kernel, device, &config, {result, "cuLaunchKernelEx"});
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
    kernels[i].clusters.Reset();
  }
  const Status status = image->library.Unload();
  __atomic_store_n(&image->unloading, 0, __ATOMIC_SEQ_CST);
  return status;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_KERNEL_H_
