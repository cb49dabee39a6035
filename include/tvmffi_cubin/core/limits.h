/*!
 * \file tvmffi_cubin/core/limits.h
 * \brief Which limit a launch goes over: dimensions, threads, shared memory, clusters, a
 * cooperative grid. Each is looked at here and nowhere else.
 */
#ifndef TVMFFI_CUBIN_CORE_LIMITS_H_
#define TVMFFI_CUBIN_CORE_LIMITS_H_

#include <stdarg.h>

#include "occupancy.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief A refused launch and what it means; the next refusal of the same thread replaces it. */
struct LaunchProblem {
  CUresult result = CUDA_SUCCESS;  // CUDA_SUCCESS: there is none
  uint64_t number = 0;             // what Status::limit has, never that of another refusal
  char text[512] = "";             // "launch of k: grid.y is 70000, device 0 allows 65535"
};
inline thread_local LaunchProblem launch_problem;

/*!
 * \brief Finds what a refused launch did wrong: a limit, or what the driver's answer tells of.
 * Calls the driver several times.
 * \param[out] text What is over which limit: "grid.y is 70000, device 0 allows 65535".
 * \return Whether that is known; where not, text is left as it was.
 */
bool FindRefusal(int device, CUkernel kernel, const CUlaunchConfig& config, CUresult answer,
                 char* text, size_t size);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

/*! \brief A launch whose limits are looked at, each by a function that writes what is over it. */
struct LimitSearch {
  int device;
  CUkernel kernel;
  const CUlaunchConfig& config;
  char* text;
  size_t size;

  /*! \brief Whether dimensions, threads, shared memory, clusters or a cooperative grid are over. */
  bool IsOver() const { return IsShapeOver() || IsResidencyOver(); }

  /*! \brief What no occupancy is needed for: six dimensions, threads, dynamic shared memory. */
  bool IsShapeOver() const {
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
      if (row.asked == 0) return Found("%s is 0, the least is 1", row.what);
      const int most = DeviceAttribute(device, row.limit);
      if (most < 0 || row.asked <= static_cast<unsigned>(most)) continue;
      return Found("%s is %u, device %d allows %d", row.what, row.asked, device, most);
    }
    const int most = Attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    if (most >= 0 && Threads() > static_cast<uint64_t>(most)) {
      return Found(
          "the block has %lu threads, the kernel (%d registers a thread) allows %d on device %d",
          Threads(), Attribute(CU_FUNC_ATTRIBUTE_NUM_REGS), most, device);
    }
    const int optin =
        DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    const int fixed = Attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    return optin >= 0 && fixed >= 0 && config.sharedMemBytes + uint64_t(fixed) > uint64_t(optin) &&
           Found("dynamic_smem_bytes is %u, device %d allows this kernel %d", config.sharedMemBytes,
                 device, optin - fixed);
  }

  /*! \brief What can be resident at once: a block, a cluster, a cooperative grid. */
  bool IsResidencyOver() const {
    Occupancy occupancy;
    if (!FindOccupancy(kernel, device, config, &occupancy).ok()) return false;
    if (occupancy.blocks_per_sm == 0) {
      return Found(
          "no block of %lu threads (%d registers each) and %u bytes of dynamic shared memory fits "
          "a multiprocessor of device %d",
          Threads(), Attribute(CU_FUNC_ATTRIBUTE_NUM_REGS), config.sharedMemBytes, device);
    }
    ClusterShape fixed;
    FindFixedCluster(kernel, device, &fixed);
    const auto* asked = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    const ClusterShape cluster = asked != nullptr ? ClusterIn(asked) : fixed;
    if (IsClusterWrong(cluster, fixed)) return true;
    if (cluster.Blocks() > static_cast<uint64_t>(occupancy.cluster_blocks)) {
      if (DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) == 0) {
        return Found("device %d (sm_%d) has no clusters, which begin with sm_90", device,
                     DeviceArch(device));
      }
      return Found("the cluster has %lu blocks, device %d allows %d of this shape",
                   cluster.Blocks(), device, occupancy.cluster_blocks);
    }
    const auto* cooperative = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    const uint64_t blocks = Volume(config.gridDimX, config.gridDimY, config.gridDimZ);
    return cooperative != nullptr && cooperative->cooperative != 0 &&
           blocks > static_cast<uint64_t>(occupancy.cooperative_blocks) &&
           Found(
               "the cooperative grid has %lu blocks, device %d can hold %ld of this shape at once",
               blocks, device, occupancy.cooperative_blocks);
  }

  /*!
   * \brief Whether a cluster is not the kernel's own, or the grid not of whole clusters; asks no
   * driver.
   * \param cluster What the launch asks for, else the kernel's own; zeros: there is none.
   * \param fixed The kernel's own, or zeros.
   */
  bool IsClusterWrong(const ClusterShape& cluster, const ClusterShape& fixed) const {
    const uint32_t grid[] = {config.gridDimX, config.gridDimY, config.gridDimZ};
    const auto* asked = FindAttribute(config, kPreferredClusterDimension);
    const ClusterShape preferred = ClusterIn(asked);
    const bool has_cluster =
        cluster.x != 0 || FindAttribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) != nullptr;
    for (int i = 0; i < 3; ++i) {
      const char axis = static_cast<char>('x' + i);
      if (fixed.x != 0 && cluster[i] != fixed[i]) {
        return Found("the cluster is %u x %u x %u, the kernel was compiled for %u x %u x %u",
                     cluster.x, cluster.y, cluster.z, fixed.x, fixed.y, fixed.z);
      }
      if (has_cluster && IsNoMultiple(axis, "grid", grid[i], "cluster", cluster[i])) return true;
      if (asked == nullptr) continue;
      if (IsNoMultiple(axis, "preferred_cluster", preferred[i], "cluster", cluster[i]) ||
          IsNoMultiple(axis, "grid", grid[i], "preferred_cluster", preferred[i])) {
        return true;
      }
    }
    return false;
  }

  /*! \brief Whether an attribute is none of its values. */
  bool IsValueOver() const {
    const struct {
      CUlaunchAttributeID id;
      const char* what;
      int most;
    } rows[] = {
        {CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, "cluster_scheduling_policy", 2},
        {CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, "mem_sync_domain", 1},
        {kSharedMemCarveout, "shared_mem_carveout", 100},
    };
    for (const auto& row : rows) {
      const auto* value = FindAttribute(config, row.id);
      const int asked = value == nullptr ? 0 : value->priority;  // lies where all of these do
      if (asked >= 0 && asked <= row.most) continue;
      return Found("%s is %d, wanted 0 to %d", row.what, asked, row.most);
    }
    return false;
  }

  /*! \brief What a driver answers CUDA_ERROR_NOT_SUPPORTED to. */
  bool IsUnsupported() const {
    const char* what = Has(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) ? "programmatic_event"
                       : Has(kLaunchCompletionEvent)               ? "launch_completion_event"
                                                                   : nullptr;
    if (what == nullptr && !Has(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION))
      return false;
    if (DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) < 9) {
      return Found("device %d (sm_%d) has no programmatic launches, which begin with sm_90", device,
                   DeviceArch(device));
    }
    if (what == nullptr) return false;
    return Found(
        "the event of %s may have been made with timing: it must be made without "
        "(CU_EVENT_DISABLE_TIMING; torch.cuda.Event() is)",
        what);
  }

 private:
  uint64_t Threads() const { return Volume(config.blockDimX, config.blockDimY, config.blockDimZ); }
  int Attribute(CUfunction_attribute attribute) const {
    return KernelAttribute(kernel, device, attribute);
  }
  bool Has(CUlaunchAttributeID id) const { return FindAttribute(config, id) != nullptr; }

  bool IsNoMultiple(char axis, const char* what, uint32_t value, const char* of,
                    uint32_t unit) const {
    if (unit == 0) return Found("%s.%c is 0, the least is 1", of, axis);
    return value % unit != 0 &&
           Found("%s.%c is %u, wanted a multiple of %s.%c, %u%s", what, axis, value, of, axis, unit,
                 what[0] == 'g' ? ": a grid counts blocks, with clusters too" : "");
  }

  /*! \brief Writes the answer; true, which is what callers return then. */
  __attribute__((noinline, cold, format(printf, 2, 3))) bool Found(const char* format, ...) const {
    va_list values;
    va_start(values, format);
    vsnprintf(text, size, format, values);
    va_end(values);
    return true;
  }
};

TVMFFI_CUBIN_COLD bool FindRefusal(int device, CUkernel kernel, const CUlaunchConfig& config,
                                   CUresult answer, char* text, size_t size) {
  const LimitSearch launch{device, kernel, config, text, size};
  return launch.IsOver() || (answer == CUDA_ERROR_NOT_SUPPORTED && launch.IsUnsupported()) ||
         (answer == CUDA_ERROR_INVALID_VALUE && launch.IsValueOver());
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_LIMITS_H_
