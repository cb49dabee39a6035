/*!
 * \file tvmffi_cubin/launch_refusal.h
 * \brief What a launch that the driver refuses did wrong; no C++ library.
 */
#ifndef TVMFFI_CUBIN_LAUNCH_REFUSAL_H_
#define TVMFFI_CUBIN_LAUNCH_REFUSAL_H_

#include "launch_limits.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief Finds what a refused launch did wrong: a limit, or what the driver's answer tells of.
 * \return As FindLimit.
 */
bool FindRefusal(const Driver* driver, int device, CUkernel kernel, const CUlaunchConfig& config,
                 CUresult answer, char* text, size_t size);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD bool FindValueLimit(const LimitSearch& launch) {
  const CUlaunchConfig& config = launch.config;
  for (unsigned i = 0; i < config.numAttrs && config.attrs != nullptr; ++i) {
    const CUlaunchAttributeValue& value = config.attrs[i].value;
    const auto& map = value.memSyncDomainMap;
    const char* what = nullptr;
    int asked = 0, most = 0;
    switch (static_cast<int>(config.attrs[i].id)) {
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        what = "cluster_scheduling_policy";
        asked = static_cast<int>(value.clusterSchedulingPolicyPreference);
        most = 2;
        break;
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        what = "mem_sync_domain";
        asked = static_cast<int>(value.memSyncDomain);
        most = 1;
        break;
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        what = "a domain of the mem_sync_domain_map";
        asked = map.default_ > map.remote ? map.default_ : map.remote;
        most = DeviceAttribute(launch.driver, launch.device,
                               CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT) -
               1;
        break;
      case kSharedMemCarveout:
        what = "shared_mem_carveout";
        asked = value.priority;  // lies where sharedMemCarveout does
        most = 100;
        break;
    }
    if (what == nullptr || most < 0 || (asked >= 0 && asked <= most)) continue;
    return launch.Found("%s is %d, wanted 0 to %d", what, asked, most);
  }
  return false;
}

TVMFFI_CUBIN_COLD bool FindUnsupported(const LimitSearch& launch) {
  const auto* programmatic = FindAttribute(launch.config, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
  const auto* completion = FindAttribute(launch.config, kLaunchCompletionEvent);
  const auto* dependent =
      FindAttribute(launch.config, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  const int major =
      DeviceAttribute(launch.driver, launch.device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  if ((programmatic || completion || dependent) && major > 0 && major < 9) {
    return launch.Found("device %d (%s) has no programmatic launches, which begin with sm_90",
                        launch.device, DescribeArch(launch.driver, launch.device).chars);
  }
  if (programmatic == nullptr && completion == nullptr) return false;
  return launch.Found(
      "the event of %s%s%s may have been made with timing: it must be made without "
      "(CU_EVENT_DISABLE_TIMING; torch.cuda.Event() is)",
      programmatic ? "programmatic_event" : "", programmatic && completion ? " or " : "",
      completion ? "launch_completion_event" : "");
}

/*! \brief Not in FindLimit: a device may as well pass over a preference that it cannot meet. */
TVMFFI_CUBIN_COLD bool FindPreferredSize(const LimitSearch& launch) {
  const uint64_t blocks =
      ClusterIn(FindAttribute(launch.config, kPreferredClusterDimension)).Blocks();
  Occupancy occupancy;
  const Status status =
      FindOccupancy(launch.driver, launch.kernel, launch.device, launch.config, &occupancy);
  if (!status.ok() || blocks <= static_cast<uint64_t>(occupancy.cluster_blocks)) return false;
  return launch.Found("preferred_cluster has %llu blocks, device %d allows %d of this shape",
                      static_cast<unsigned long long>(blocks), launch.device,
                      occupancy.cluster_blocks);
}

TVMFFI_CUBIN_COLD bool FindRefusal(const Driver* driver, int device, CUkernel kernel,
                                   const CUlaunchConfig& config, CUresult answer, char* text,
                                   size_t size) {
  if (FindLimit(driver, device, kernel, config, text, size)) return true;
  const LimitSearch launch{driver, device, kernel, config, text, size};
  if (answer == CUDA_ERROR_INVALID_CLUSTER_SIZE) return FindPreferredSize(launch);
  if (answer == CUDA_ERROR_NOT_SUPPORTED) return FindUnsupported(launch);
  return answer == CUDA_ERROR_INVALID_VALUE && FindValueLimit(launch);
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCH_REFUSAL_H_
