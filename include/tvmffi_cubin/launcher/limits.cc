#include "limits.h"

#include "../launch_refusal.h"
#include "failure.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Raises what is over a limit. */
static int FailLimit(const LaunchSite& site, const EmbeddedKernel& kernel, const Text& text) {
  return Fail("LaunchLimitError", "%s: launch of %s: %s", SiteText(site).chars, kernel.display,
              text.chars);
}

int CheckLimits(const LaunchSite& site, const Driver* driver, EmbeddedKernel* kernel, int device,
                const CUlaunchConfig& config) {
  Text text;
  const uint64_t fixed = Volume(kernel->cluster[0], kernel->cluster[1], kernel->cluster[2]);
  const uint64_t asked = LargestClusterBlocks(config);
  const uint64_t blocks = asked > fixed ? asked : fixed;
  const LimitSearch search{driver, device, kernel->handle, config, text.chars, sizeof(text.chars)};
  if (FindValueLimit(search)) return FailLimit(site, *kernel, text);
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
  if (is_plain ||
      !FindLimit(driver, device, kernel->handle, config, text.chars, sizeof(text.chars))) {
    return 0;
  }
  return FailLimit(site, *kernel, text);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
