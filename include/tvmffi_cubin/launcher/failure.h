/*!
 * \file tvmffi_cubin/launcher/failure.h
 * \brief What a failed load or launch means, raised: the limit, the architecture, the call.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_FAILURE_H_
#define TVMFFI_CUBIN_LAUNCHER_FAILURE_H_

#include "../core/driver.h"
#include "site.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Whether a refusal means that what a device takes of an image lacks a kernel. */
bool LacksKernel(const Driver* driver, const EmbeddedKernel& kernel, int device, CUresult result);

/*! \brief Raises what a failed load or launch means: limits and architectures by name. */
__attribute__((cold)) int FailLaunch(const LaunchSite& site, const EmbeddedKernel& kernel,
                                     int device, const CUlaunchConfig* config,
                                     const Status& status);

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_FAILURE_H_
