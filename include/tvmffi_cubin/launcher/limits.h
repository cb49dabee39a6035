/*!
 * \file tvmffi_cubin/launcher/limits.h
 * \brief What a device can't do, told before the driver is asked to: a refusal in the midst of a
 * graph capture would spoil the capture.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_LIMITS_H_
#define TVMFFI_CUBIN_LAUNCHER_LIMITS_H_

#include "attributes.h"
#include "site.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Whether a shape is within what every device allows the kernel. */
inline bool HasPlainShape(const EmbeddedKernel& kernel, const CUlaunchConfig& config) {
  constexpr uint32_t kBlock = 1024, kBlockZ = 64, kGrid = 65535, kGridX = INT32_MAX;
  return config.gridDimX <= kGridX && config.gridDimY <= kGrid && config.gridDimZ <= kGrid &&
         config.blockDimX <= kBlock && config.blockDimY <= kBlock && config.blockDimZ <= kBlockZ &&
         config.blockDimX * config.blockDimY * config.blockDimZ <= kernel.max_threads;
}

/*! \brief Whether there is nothing about a launch that a device might refuse. */
inline bool IsUnlimited(const EmbeddedKernel& kernel, const CUlaunchConfig& config) {
  return config.numAttrs == 0 && kernel.cluster[0] == 0 && HasPlainShape(kernel, config);
}

/*!
 * \brief Checks what a launch asks for beyond the plain, and opts into large clusters; the device
 * is current, the kernel loaded.
 */
int CheckLimits(const LaunchSite& site, const Driver* driver, EmbeddedKernel* kernel, int device,
                const CUlaunchConfig& config);

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_LIMITS_H_
