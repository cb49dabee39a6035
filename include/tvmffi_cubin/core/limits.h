/*!
 * \file tvmffi_cubin/core/limits.h
 * \brief Which limit a launch goes over: dimensions, threads, shared memory, clusters, a cooperative grid.
 */
#ifndef TVMFFI_CUBIN_CORE_LIMITS_H_
#define TVMFFI_CUBIN_CORE_LIMITS_H_

#include <stdarg.h>

#include "occupancy.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief A refusal and what it means; the next refusal of the same thread replaces it. */
struct LaunchProblem {
  CUresult result = CUDA_SUCCESS;  // CUDA_SUCCESS: there is none
  bool is_limit = true;            // else it is of what was to be launched, and the text says all
  uint64_t number = 0;             // what Status::limit has, never that of another refusal
  char text[512] = "";             // "launch of k: grid.y is 70000, device 0 allows 65535"
};
inline thread_local LaunchProblem launch_problem;

/*! \brief How many refusals there were, of all threads. */
inline uint64_t launch_problems = 0;

/*! \brief The limit of a refused launch; null where another launch, or thread, has the text now. */
inline const char* LimitText(const Status& status) {
  return status.limit != 0 && status.limit == launch_problem.number ? launch_problem.text : nullptr;
}

/*!
 * \brief Notes a refusal and what it means, which the thread's next one replaces.
 * \return The status with its number.
 */
Status NoteProblem(Status status, bool is_limit, const char* kernel, const char* reason);

/*!
 * \brief Finds the limit that a launch goes over, of dimensions, threads, shared memory, clusters
 * or a cooperative grid. Calls the driver several times, so it is for launches that were refused.
 * \param[out] text What is over which limit: "grid.y is 70000, device 0 allows 65535".
 * \return Whether there is one; where not, text is left as it was.
 */
bool FindLimit(const Driver* driver, int device, CUkernel kernel, const CUlaunchConfig& config,
               char* text, size_t size);

/*!
 * \brief Finds what a refused launch did wrong: a limit, or what the driver's answer tells of.
 * \return As FindLimit.
 */
bool FindRefusal(const Driver* driver, int device, CUkernel kernel, const CUlaunchConfig& config,
                 CUresult answer, char* text, size_t size);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD Status NoteProblem(Status status, bool is_limit, const char* kernel,
                                     const char* reason) {
  LaunchProblem* problem = &launch_problem;
  problem->result = status.result;
  problem->is_limit = is_limit;
  snprintf(problem->text, sizeof(problem->text), "launch of %.100s: %s", kernel, reason);
  status.limit = problem->number = __atomic_add_fetch(&launch_problems, 1, __ATOMIC_RELAXED);
  return status;
}

/*! \brief A launch whose limits are looked for, and where the answer goes. */
struct LimitSearch {
  const Driver* driver;
  int device;
  CUkernel kernel;
  const CUlaunchConfig& config;
  char* text;
  size_t size;

  uint64_t Threads() const { return Volume(config.blockDimX, config.blockDimY, config.blockDimZ); }

  /*! \brief A kernel attribute; -1 where the driver does not say. */
  int Attribute(CUfunction_attribute attribute) const {
    CUdevice handle = 0;
    int value = -1;
    if (driver->cuDeviceGet(&handle, device) != CUDA_SUCCESS) return -1;
    const CUresult result = driver->cuKernelGetAttribute(&value, attribute, kernel, handle);
    return result == CUDA_SUCCESS ? value : -1;
  }

  /*! \brief Writes the answer; true, which is what callers return then. */
  __attribute__((format(printf, 2, 3))) bool Found(const char* format, ...) const {
    va_list values;
    va_start(values, format);
    vsnprintf(text, size, format, values);
    va_end(values);
    return true;
  }
};

TVMFFI_CUBIN_COLD bool FindDimensionLimit(const LimitSearch& launch) {
  const CUlaunchConfig& config = launch.config;
  const struct {
    const char* what;
    unsigned asked;
    CUdevice_attribute limit;
  } rows[] = {
      {"grid.x", config.gridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
      {"grid.y", config.gridDimY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
      {"grid.z", config.gridDimZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
      {"block.x", config.blockDimX, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
      {"block.y", config.blockDimY, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
      {"block.z", config.blockDimZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
  };
  for (const auto& row : rows) {
    if (row.asked == 0) return launch.Found("%s is 0, the least is 1", row.what);
    const int limit = DeviceAttribute(launch.driver, launch.device, row.limit);
    if (limit < 0 || row.asked <= static_cast<unsigned>(limit)) continue;
    return launch.Found("%s is %u, device %d allows %d", row.what, row.asked, launch.device, limit);
  }
  return false;
}

TVMFFI_CUBIN_COLD bool FindBlockLimit(const LimitSearch& launch) {
  const int most = launch.Attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (most >= 0 && launch.Threads() > static_cast<uint64_t>(most)) {
    return launch.Found(
        "the block has %llu threads, the kernel (%d registers a thread) allows %d on device %d",
        static_cast<unsigned long long>(launch.Threads()),
        launch.Attribute(CU_FUNC_ATTRIBUTE_NUM_REGS), most, launch.device);
  }
  const int optin = DeviceAttribute(launch.driver, launch.device,
                                    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  const int fixed = launch.Attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  if (optin < 0 || fixed < 0 || launch.config.sharedMemBytes + uint64_t(fixed) <= uint64_t(optin)) {
    return false;
  }
  return launch.Found("dynamic_smem_bytes is %u, device %d allows this kernel %d",
                      launch.config.sharedMemBytes, launch.device, optin - fixed);
}

TVMFFI_CUBIN_COLD bool FindClusterShapeLimit(const LimitSearch& launch, const ClusterShape& cluster,
                                             const char* what) {
  const unsigned grid[] = {launch.config.gridDimX, launch.config.gridDimY, launch.config.gridDimZ};
  for (int i = 0; i < 3; ++i) {
    const char axis = static_cast<char>('x' + i);
    if (cluster[i] == 0) return launch.Found("%s.%c is 0, the least is 1", what, axis);
    if (grid[i] % cluster[i] == 0) continue;
    return launch.Found("grid.%c is %u, wanted a multiple of %s.%c, %u: a grid counts blocks, with clusters "
                        "too",
                        axis, grid[i], what, axis, cluster[i]);
  }
  return false;
}

TVMFFI_CUBIN_COLD bool FindPreferredLimit(const LimitSearch& launch, const ClusterShape& cluster) {
  const auto* value = FindAttribute(launch.config, kPreferredClusterDimension);
  if (value == nullptr) return false;
  const ClusterShape preferred = ClusterIn(value);
  if (cluster.x == 0) {
    return launch.Found("preferred_cluster is given without cluster, its least size");
  }
  for (int i = 0; i < 3; ++i) {
    const char axis = static_cast<char>('x' + i);
    if (cluster[i] == 0 || preferred[i] % cluster[i] == 0) continue;
    return launch.Found("preferred_cluster.%c is %u, wanted a multiple of cluster.%c, %u", axis,
                        preferred[i], axis, cluster[i]);
  }
  if (preferred.z != cluster.z) {
    return launch.Found("preferred_cluster.z is %u, wanted %u as in cluster.z", preferred.z,
                        cluster.z);
  }
  return FindClusterShapeLimit(launch, preferred, "preferred_cluster");
}

TVMFFI_CUBIN_COLD bool FindClusterLimit(const LimitSearch& launch, const ClusterShape& cluster,
                                        const Occupancy& occupancy) {
  const auto* asked = FindAttribute(launch.config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  if (asked == nullptr && cluster.x == 0) return FindPreferredLimit(launch, cluster);
  ClusterShape fixed;
  FindFixedCluster(launch.driver, launch.kernel, launch.device, &fixed);
  if (fixed.x != 0 && (fixed.x != cluster.x || fixed.y != cluster.y || fixed.z != cluster.z)) {
    return launch.Found("the cluster is %u x %u x %u, the kernel was compiled for %u x %u x %u",
                        cluster.x, cluster.y, cluster.z, fixed.x, fixed.y, fixed.z);
  }
  if (FindClusterShapeLimit(launch, asked != nullptr ? ClusterIn(asked) : cluster, "cluster")) {
    return true;
  }
  const uint64_t blocks = cluster.Blocks();
  if (blocks > static_cast<uint64_t>(occupancy.cluster_blocks)) {
    const int has =
        DeviceAttribute(launch.driver, launch.device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
    if (has == 0) {
      return launch.Found("device %d (%s) has no clusters, which begin with sm_90", launch.device,
                          DescribeArch(launch.driver, launch.device).chars);
    }
    return launch.Found("the cluster has %llu blocks, device %d allows %d of this shape",
                        static_cast<unsigned long long>(blocks), launch.device,
                        occupancy.cluster_blocks);
  }
  return FindPreferredLimit(launch, cluster);
}

TVMFFI_CUBIN_COLD bool FindCooperativeLimit(const LimitSearch& launch, const Occupancy& occupancy) {
  const auto* asked = FindAttribute(launch.config, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  if (asked == nullptr || asked->cooperative == 0) return false;
  const CUlaunchConfig& config = launch.config;
  const uint64_t blocks = Volume(config.gridDimX, config.gridDimY, config.gridDimZ);
  if (blocks <= static_cast<uint64_t>(occupancy.cooperative_blocks)) return false;
  return launch.Found(
      "the cooperative grid has %llu blocks, device %d can hold %lld of this shape at once",
      static_cast<unsigned long long>(blocks), launch.device,
      static_cast<long long>(occupancy.cooperative_blocks));
}

TVMFFI_CUBIN_COLD bool FindLimit(const Driver* driver, int device, CUkernel kernel,
                                 const CUlaunchConfig& config, char* text, size_t size) {
  const LimitSearch launch{driver, device, kernel, config, text, size};
  if (FindDimensionLimit(launch) || FindBlockLimit(launch)) return true;
  Occupancy occupancy;
  ClusterShape cluster;
  ClusterLimits clusters;
  if (!FindCluster(driver, kernel, device, config, &cluster).ok()) return false;
  // A launch that was refused for something else was not opted in yet.
  const bool to_allow = cluster.Blocks() > kPortableClusterBlocks &&
                        launch.Attribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) == 0;
  if (!FindOccupancy(driver, kernel, device, config, &occupancy, nullptr,
                     to_allow ? &clusters : nullptr)
           .ok()) {
    return false;
  }
  if (occupancy.blocks_per_sm == 0) {
    return launch.Found(
        "no block of %llu threads (%d registers each) and %u bytes of dynamic "
        "shared memory fits a multiprocessor of device %d",
        static_cast<unsigned long long>(launch.Threads()),
        launch.Attribute(CU_FUNC_ATTRIBUTE_NUM_REGS), config.sharedMemBytes, device);
  }
  return FindClusterLimit(launch, cluster, occupancy) || FindCooperativeLimit(launch, occupancy);
}

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

#endif  // TVMFFI_CUBIN_CORE_LIMITS_H_
