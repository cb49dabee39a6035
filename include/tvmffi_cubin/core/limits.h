/*!
 * \file tvmffi_cubin/core/limits.h
 * \brief What a launch asks of a device: opting into more than the defaults, how much of it fits,
 * and which limit it goes over. Each limit is looked at here and nowhere else.
 */
#pragma once

#include <stdarg.h>

#include "library.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxPotentialClusterSize, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxActiveClusters, 12000)

// By number: headers before CUDA 12.8 lack some of these, and what is built with them may meet a
// newer driver. The preferred cluster's value is laid out as `clusterDim`.
constexpr CUlaunchAttributeID kPreferredClusterDimension = static_cast<CUlaunchAttributeID>(11);
constexpr CUlaunchAttributeID kLaunchCompletionEvent = static_cast<CUlaunchAttributeID>(12);
constexpr CUlaunchAttributeID kSharedMemCarveout = static_cast<CUlaunchAttributeID>(14);

/*! \brief Blocks of a cluster that every device with clusters takes; more are opted into. */
constexpr uint64_t kPortableClusterBlocks = 8;

/*! \brief The product of three sizes, UINT64_MAX where it is beyond 64 bits. */
inline uint64_t Volume(uint32_t x, uint32_t y, uint32_t z) {
  uint64_t volume = 0;
  return __builtin_mul_overflow(uint64_t{x} * y, uint64_t{z}, &volume) ? UINT64_MAX : volume;
}

/*! \brief Blocks of a cluster along each dimension; all 0: no cluster. */
struct ClusterShape {
  uint32_t x = 0, y = 0, z = 0;

  uint32_t operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  uint64_t Blocks() const { return Volume(x, y, z); }
};

/*! \brief An attribute of a launch; null where it has none. */
inline const CUlaunchAttributeValue* FindAttribute(const CUlaunchConfig& config,
                                                   CUlaunchAttributeID id) {
  for (unsigned i = config.attrs == nullptr ? 0 : config.numAttrs; i > 0; --i) {
    if (config.attrs[i - 1].id == id) return &config.attrs[i - 1].value;
  }
  return nullptr;
}

/*! \brief The cluster that a launch asks for by an attribute; else `otherwise`. */
inline ClusterShape ClusterOf(const CUlaunchConfig& config, const ClusterShape& otherwise = {},
                              CUlaunchAttributeID id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
  const auto* value = FindAttribute(config, id);
  if (value == nullptr) return otherwise;
  return {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
}

/*! \brief Blocks of the largest cluster that a launch may have; `fixed` is the kernel's own. */
inline uint64_t LargestCluster(const CUlaunchConfig& config, uint64_t fixed) {
  if (__builtin_expect(config.numAttrs == 0, 1)) return fixed;
  const uint64_t asked = ClusterOf(config).Blocks();
  const uint64_t preferred = ClusterOf(config, {}, kPreferredClusterDimension).Blocks();
  const uint64_t larger = asked > preferred ? asked : preferred;
  return larger > fixed ? larger : fixed;
}

/*!
 * \brief What a kernel has been opted into, device by device: all the dynamic shared memory that
 * there is beside its static one, so that launches of different sizes from several threads never
 * lower each other's limit, and clusters as large as the device has them.
 */
struct KernelLimits {
  uint32_t smem_everywhere = 0;        // bytes that every device allows without asking
  uint32_t smem[kMaxDevices] = {};     // bytes
  uint8_t clusters[kMaxDevices] = {};  // whether there are any, and large ones are allowed

  /*! \brief Whether `bytes` of dynamic shared memory need no opting in (any more). */
  bool CoversSmem(int device, uint32_t bytes) const {
    return bytes <= smem_everywhere || bytes <= __atomic_load_n(&smem[device], __ATOMIC_RELAXED);
  }

  /*! \brief Whether the device has clusters, of more than 8 blocks too; asks nothing. */
  bool HasClusters(int device) const {
    return __atomic_load_n(&clusters[device], __ATOMIC_RELAXED) != 0;
  }

  /*! \brief Opts into all of that on a device. */
  Status Raise(CUkernel kernel, int device);

  /*! \brief Forgets what was opted into, as unloading the image does. */
  void Reset() {
    memset(smem, 0, sizeof(smem));
    memset(clusters, 0, sizeof(clusters));
  }
};

/*! \brief The cluster that a kernel was compiled for; false where the driver does not say. */
bool FindFixedCluster(CUkernel kernel, int device, ClusterShape* cluster);

/*! \brief What fits a device at once, of one kernel in one shape. */
struct Occupancy {
  int blocks_per_sm = 0;           // blocks that one multiprocessor holds
  int64_t cooperative_blocks = 0;  // largest cooperative grid; 0 where the device has none
  int cluster_blocks = 1;  // of the largest cluster; 1 where the device has none, 0 where none fits
  int clusters = 0;        // clusters of the launch's size; 0 where it has no cluster
};

/*!
 * \brief Finds how much of a launch fits a device at once. Of the configuration, block, dynamic
 * shared memory and cluster count; grid and stream do not.
 * \param limits Where given, all that the device has is opted into first.
 */
Status FindOccupancy(CUkernel kernel, int device, const CUlaunchConfig& config,
                     Occupancy* occupancy, KernelLimits* limits = nullptr);

/*! \brief What a thread's last refused launch went over: "launch of k: grid.y is 70000, ...". */
struct LaunchProblem {
  CUresult result = CUDA_SUCCESS;  // the driver's answer; CUDA_SUCCESS: there is none
  char text[512] = "";
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

TVMFFI_CUBIN_COLD Status KernelLimits::Raise(CUkernel kernel, int device) {
  CaptureScope relaxed;
  const int optin = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  const bool has_clusters = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) > 0;
  int fixed = 0;
  CUresult result =
      entry::cuKernelGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, device);
  if (result != CUDA_SUCCESS) return {result, "cuKernelGetAttribute"};
  result = entry::cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       optin - fixed, kernel, device);
  if (result == CUDA_SUCCESS && has_clusters) {
    result = entry::cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
                                         kernel, device);
  }
  if (result != CUDA_SUCCESS) return {result, "cuKernelSetAttribute"};
  __atomic_store_n(&smem[device], static_cast<uint32_t>(optin - fixed), __ATOMIC_RELAXED);
  __atomic_store_n(&clusters[device], uint8_t{has_clusters}, __ATOMIC_RELAXED);
  return {};
}

TVMFFI_CUBIN_COLD bool FindFixedCluster(CUkernel kernel, int device, ClusterShape* cluster) {
  const auto size = [&](CUfunction_attribute attribute) {
    return static_cast<uint32_t>(KernelAttribute(kernel, device, attribute));
  };
  *cluster = {size(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
              size(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
              size(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)};
  if (static_cast<int>(cluster->x) >= 0) return true;
  *cluster = {};
  return false;
}

TVMFFI_CUBIN_COLD Status FindOccupancy(CUkernel kernel, int device, const CUlaunchConfig& asked,
                                       Occupancy* found, KernelLimits* limits) {
  CaptureScope relaxed;
  DeviceScope scope;
  *found = Occupancy();
  Status status = scope.Enter(device);
  if (status.ok() && limits != nullptr) status = limits->Raise(kernel, device);
  if (!status.ok()) return status;
  ClusterShape fixed;
  FindFixedCluster(kernel, device, &fixed);
  const ClusterShape cluster = ClusterOf(asked, fixed);
  const auto function = reinterpret_cast<CUfunction>(kernel);
  const uint64_t threads = Volume(asked.blockDimX, asked.blockDimY, asked.blockDimZ);
  CUresult result = entry::cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &found->blocks_per_sm, function, threads < INT32_MAX ? static_cast<int>(threads) : INT32_MAX,
      asked.sharedMemBytes);
  if (result != CUDA_SUCCESS) return {result, "cuOccupancyMaxActiveBlocksPerMultiprocessor"};
  if (DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) > 0) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {cluster.x, cluster.y, cluster.z};
    // One cluster, since the driver refuses a grid that is open or not of whole clusters, and no
    // stream, whose device it would take.
    CUlaunchConfig config = asked;
    config.gridDimX = cluster.x == 0 ? 1 : cluster.x;
    config.gridDimY = cluster.y == 0 ? 1 : cluster.y;
    config.gridDimZ = cluster.z == 0 ? 1 : cluster.z;
    config.hStream = nullptr;
    config.attrs = &attribute;
    config.numAttrs = 0;
    result = entry::cuOccupancyMaxPotentialClusterSize(&found->cluster_blocks, function, &config);
    // What the driver says of a kernel whose own cluster is larger than it may be.
    if (result == CUDA_ERROR_INVALID_CLUSTER_SIZE) found->cluster_blocks = 0, result = {};
    if (result != CUDA_SUCCESS) return {result, "cuOccupancyMaxPotentialClusterSize"};
    // Of any other such kernel it tells what would fit if its size were free.
    if (fixed.x != 0 && fixed.Blocks() < static_cast<uint64_t>(found->cluster_blocks)) {
      found->cluster_blocks = static_cast<int>(fixed.Blocks());
    }
    config.numAttrs = 1;
    if (cluster.x != 0) {
      result = entry::cuOccupancyMaxActiveClusters(&found->clusters, function, &config);
    }
    // One that the device cannot have at all is no failure: none of them fits.
    if (result == CUDA_ERROR_INVALID_CLUSTER_SIZE) found->clusters = 0, result = {};
    if (result != CUDA_SUCCESS) return {result, "cuOccupancyMaxActiveClusters"};
  }
  if (DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) > 0) {
    const int sms = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    found->cooperative_blocks = cluster.Blocks() > 1
                                    ? static_cast<int64_t>(found->clusters * cluster.Blocks())
                                    : int64_t{found->blocks_per_sm} * sms;
  }
  return {};
}

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
    if (IsClusterWrong(fixed)) return true;
    const uint64_t blocks = ClusterOf(config, fixed).Blocks();
    if (blocks > static_cast<uint64_t>(occupancy.cluster_blocks)) {
      if (DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) == 0) {
        return Found("device %d (sm_%d) has no clusters, which begin with sm_90", device,
                     DeviceArch(device));
      }
      return Found("the cluster has %lu blocks, device %d allows %d of this shape", blocks, device,
                   occupancy.cluster_blocks);
    }
    const uint64_t grid = Volume(config.gridDimX, config.gridDimY, config.gridDimZ);
    return IsCooperative() && grid > static_cast<uint64_t>(occupancy.cooperative_blocks) &&
           Found(
               "the cooperative grid has %lu blocks, device %d can hold %ld of this shape at once",
               grid, device, occupancy.cooperative_blocks);
  }

  /*!
   * \brief Whether a cluster is not the kernel's own, or the grid not of whole clusters; asks no
   * driver.
   * \param fixed The kernel's own, or zeros.
   */
  bool IsClusterWrong(const ClusterShape& fixed) const {
    const uint32_t grid[] = {config.gridDimX, config.gridDimY, config.gridDimZ};
    const ClusterShape cluster = ClusterOf(config, fixed);
    const ClusterShape preferred = ClusterOf(config, {}, kPreferredClusterDimension);
    const bool has_cluster = fixed.x != 0 || Has(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    const bool has_preferred = Has(kPreferredClusterDimension);
    for (int i = 0; i < 3; ++i) {
      const char axis = static_cast<char>('x' + i);
      if (fixed.x != 0 && cluster[i] != fixed[i]) {
        return Found("the cluster is %u x %u x %u, the kernel was compiled for %u x %u x %u",
                     cluster.x, cluster.y, cluster.z, fixed.x, fixed.y, fixed.z);
      }
      if ((has_cluster && IsNoMultiple(axis, "grid", grid[i], "cluster", cluster[i])) ||
          (has_preferred &&
           (IsNoMultiple(axis, "preferred_cluster", preferred[i], "cluster", cluster[i]) ||
            IsNoMultiple(axis, "grid", grid[i], "preferred_cluster", preferred[i])))) {
        return true;
      }
    }
    return false;
  }

  /*! \brief What a driver answers CUDA_ERROR_NOT_SUPPORTED to. */
  bool IsUnsupported() const {
    const char* event = Has(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) ? "programmatic_event"
                        : Has(kLaunchCompletionEvent)               ? "launch_completion_event"
                                                                    : nullptr;
    const bool is_programmatic =
        event != nullptr || Has(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
    if (is_programmatic && DeviceArch(device) < 90) {
      return Found("device %d (sm_%d) has no programmatic launches, which begin with sm_90", device,
                   DeviceArch(device));
    }
    return event != nullptr &&
           Found(
               "the event of %s may have been made with timing: it must be made without "
               "(CU_EVENT_DISABLE_TIMING; torch.cuda.Event() is)",
               event);
  }

  bool IsCooperative() const {
    const auto* value = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    return value != nullptr && value->cooperative != 0;
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
  return launch.IsOver() || (answer == CUDA_ERROR_NOT_SUPPORTED && launch.IsUnsupported());
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END
