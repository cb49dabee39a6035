/*!
 * \file tvmffi_cubin/launcher/kernel.h
 * \brief One kernel of an embedded image: loaded at first use, launched, and its failures
 * explained.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_KERNEL_H_
#define TVMFFI_CUBIN_LAUNCHER_KERNEL_H_

#include "../core/device.h"
#include "failure.h"
#include "image_use.h"
#include "limits.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Loads a kernel, and its image where that is not loaded. */
__attribute__((cold)) Status LoadKernelNow(const Driver* driver, EmbeddedKernel* kernel,
                                           CUkernel* out);

/*! \brief Loads a kernel and its image unless they are. */
inline Status LoadKernel(const Driver* driver, EmbeddedKernel* kernel, CUkernel* out) {
  *out = __atomic_load_n(&kernel->handle, __ATOMIC_SEQ_CST);
  return __builtin_expect(*out != nullptr, 1) ? Status() : LoadKernelNow(driver, kernel, out);
}

/*!
 * \brief Loads a kernel, opts into what a launch needs and checks the device's limits; the device
 * is current already.
 */
__attribute__((always_inline)) inline int PrepareKernel(const LaunchSite& site,
                                                        const Driver* driver,
                                                        EmbeddedKernel* kernel, int device,
                                                        const CUlaunchConfig& config,
                                                        CUkernel* out) {
  Status status = LoadKernel(driver, kernel, out);
  if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
  if (__builtin_expect(!kernel->smem.Covers(device, config.sharedMemBytes), 0)) {
    int most = -1;
    status = kernel->smem.Raise(driver, *out, device, &most);
    if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
    if (!kernel->smem.Covers(device, config.sharedMemBytes)) {
      return Fail("LaunchLimitError",
                  "%s: launch of %s: dynamic_smem_bytes is %u, device %d allows "
                  "this kernel %d",
                  SiteText(site).chars, kernel->display, config.sharedMemBytes, device, most);
    }
  }
  if (__builtin_expect(IsUnlimited(*kernel, config), 1)) return 0;
  return CheckLimits(site, driver, kernel, device, config);
}

/*! \brief Does what PrepareKernel does where it could fail, long before the launch. */
__attribute__((noinline)) inline int CheckAhead(const LaunchSite& site, const Driver* driver,
                                                EmbeddedKernel* kernel, int device,
                                                const CUlaunchConfig& config) {
  if (kernel->smem.Covers(device, config.sharedMemBytes) && IsUnlimited(*kernel, config)) return 0;
  ImageUse use(kernel->image);
  DeviceScope scope;
  const Status status = scope.Enter(driver, device);
  if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
  CUkernel handle = nullptr;
  return PrepareKernel(site, driver, kernel, device, config, &handle);
}

/*! \brief Launches with the grid counted in clusters of the size that the kernel fixes. */
__attribute__((noinline)) inline CUresult LaunchInClusters(const Driver* driver,
                                                           const EmbeddedKernel& kernel,
                                                           CUlaunchConfig config,
                                                           CUfunction function, void** params) {
  config.gridDimX /= kernel.cluster[0];
  config.gridDimY /= kernel.cluster[1];
  config.gridDimZ /= kernel.cluster[2];
  return driver->cuLaunchKernelEx(&config, function, params, nullptr);
}

/*! \brief Launches; the device is current already. */
inline int LaunchKernel(const LaunchSite& site, const Driver* driver, EmbeddedKernel* kernel,
                        int device, const CUlaunchConfig& config, void** params) {
  CUkernel handle = nullptr;
  if (PrepareKernel(site, driver, kernel, device, config, &handle) != 0) return -1;
  // A CUkernel may be given where a CUfunction is asked for: the driver then takes the one of the
  // current context (CUDA driver API, cuLaunchKernelEx).
  const auto function = reinterpret_cast<CUfunction>(handle);
  const CUresult result = __builtin_expect(kernel->grid_in_clusters, 0)
                              ? LaunchInClusters(driver, *kernel, config, function, params)
                              : driver->cuLaunchKernelEx(&config, function, params, nullptr);
  if (__builtin_expect(result != CUDA_SUCCESS, 0)) {
    return FailLaunch(site, *kernel, device, &config, {result, "cuLaunchKernelEx"});
  }
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_KERNEL_H_
