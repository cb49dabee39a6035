/*!
 * \file tvmffi_cubin/launcher/run.h
 * \brief What was prepared is launched.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_RUN_H_
#define TVMFFI_CUBIN_LAUNCHER_RUN_H_

#include "../core/device.h"
#include "kernel.h"
#include "prepare.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Launches while some image of the module is in use, so that none is unloaded. */
__attribute__((always_inline)) inline int RunInUse(const LaunchSite& site, const Driver* driver,
                                                   const LaunchPlan& launch, int device,
                                                   const CUlaunchConfig& config, void** params) {
  DeviceScope scope;
  Status status = scope.Enter(driver, device);
  if (!status.ok()) return FailLaunch(site, *launch.kernel, device, nullptr, status);
  if (LaunchKernel(site, driver, launch.kernel, device, config, params) != 0) return -1;
  status = scope.Leave();
  if (__builtin_expect(status.ok(), 1)) return 0;
  return FailLaunch(site, *launch.kernel, device, nullptr, status);
}

/*! \brief Launches what PrepareLaunch prepared; a grid with a zero in it does nothing. */
inline int RunLaunch(const LaunchSite& site, const Driver* driver, const LaunchPlan& launch,
                     int device, const CUlaunchConfig& config, void** params) {
  if (IsEmpty(config)) return 0;
  // Before the scope: what is unloaded releases the contexts, too.
  ImageUse use(launch.kernel->image);
  return RunInUse(site, driver, launch, device, config, params);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_RUN_H_
