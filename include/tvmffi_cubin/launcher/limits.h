/*!
 * \file tvmffi_cubin/launcher/limits.h
 * \brief What a device can't do, told before the driver is asked to: a refusal in the midst of a
 * graph capture would spoil the capture.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_LIMITS_H_
#define TVMFFI_CUBIN_LAUNCHER_LIMITS_H_

#include "../core/library.h"
#include "../core/occupancy.h"
#include "attributes.h"
#include "failure.h"

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

/*! \brief Raises that an attribute's value is out of its range; 0 where none is. */
int CheckValues(const LaunchSite& site, const Driver* driver, const EmbeddedKernel& kernel,
                int device, const CUlaunchConfig& config);

/*! \brief Raises the limit that a launch goes over; 0 where none is found. */
__attribute__((cold)) int FailLimit(const LaunchSite& site, const Driver* driver,
                                    const EmbeddedKernel& kernel, int device,
                                    const CUlaunchConfig& config);

/*!
 * \brief Checks what a launch asks for beyond the plain, and opts into large clusters; the device
 * is current, the kernel loaded.
 */
__attribute__((noinline)) inline int CheckLimits(const LaunchSite& site, const Driver* driver,
                                                 EmbeddedKernel* kernel, int device,
                                                 const CUlaunchConfig& config) {
  const uint64_t fixed = Volume(kernel->cluster[0], kernel->cluster[1], kernel->cluster[2]);
  const uint64_t asked = LargestClusterBlocks(config);
  const uint64_t blocks = asked > fixed ? asked : fixed;
  if (config.numAttrs != 0 && CheckValues(site, driver, *kernel, device, config) != 0) return -1;
  bool is_plain = HasPlainShape(*kernel, config);
  if (blocks > 1 && DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) == 0) {
    is_plain = false;
  } else if (!kernel->clusters.Covers(device, blocks)) {
    const Status status = kernel->clusters.Allow(driver, kernel->handle, device);
    if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
  }
  // How large a cluster may be depends on the device, on the block and on its shared memory.
  const bool is_large = blocks > kPortableClusterBlocks;
  if (is_plain && (is_large || IsCooperative(config))) {
    Occupancy occupancy;
    const Status status = FindOccupancy(driver, kernel->handle, device, config, &occupancy);
    if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
    const uint64_t grid = Volume(config.gridDimX, config.gridDimY, config.gridDimZ);
    const bool is_resident = grid <= static_cast<uint64_t>(occupancy.cooperative_blocks);
    const bool has_cluster = blocks <= static_cast<uint64_t>(occupancy.cluster_blocks);
    is_plain = (!is_large || has_cluster) && (!IsCooperative(config) || is_resident);
  }
  return is_plain ? 0 : FailLimit(site, driver, *kernel, device, config);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_LIMITS_H_
