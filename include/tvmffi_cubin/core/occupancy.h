/*!
 * \file tvmffi_cubin/core/occupancy.h
 * \brief What a launch asks of a device: clusters, opting into limits, and how much of it fits.
 */
#ifndef TVMFFI_CUBIN_CORE_OCCUPANCY_H_
#define TVMFFI_CUBIN_CORE_OCCUPANCY_H_

#include "library.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION by number: headers before CUDA 12.8 lack
 * it, and what is built with them may meet a newer driver. Its value is laid out as `clusterDim`.
 */
constexpr CUlaunchAttributeID kPreferredClusterDimension = static_cast<CUlaunchAttributeID>(11);

/*! \brief Likewise LAUNCH_COMPLETION_EVENT and PREFERRED_SHARED_MEMORY_CARVEOUT. */
constexpr CUlaunchAttributeID kLaunchCompletionEvent = static_cast<CUlaunchAttributeID>(12);
constexpr CUlaunchAttributeID kSharedMemCarveout = static_cast<CUlaunchAttributeID>(14);

/*! \brief The product of three sizes, UINT64_MAX where it is beyond 64 bits. */
inline uint64_t Volume(uint32_t x, uint32_t y, uint32_t z) {
  uint64_t volume = 0;
  return __builtin_mul_overflow(uint64_t{x} * y, uint64_t{z}, &volume) ? UINT64_MAX : volume;
}

/*! \brief Blocks of a cluster along each dimension; all 0: no cluster. */
struct ClusterShape {
  uint32_t x = 0, y = 0, z = 0;

  uint32_t operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }

  /*! \brief Blocks in the cluster. */
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

/*! \brief The cluster in an attribute's value; none where that is null. */
inline ClusterShape ClusterIn(const CUlaunchAttributeValue* value) {
  if (value == nullptr) return {};
  return {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
}

/*! \brief Blocks of the largest cluster that a launch asks for, the preferred one included. */
inline uint64_t LargestClusterBlocks(const CUlaunchConfig& config) {
  if (__builtin_expect(config.numAttrs == 0, 1)) return 0;
  const uint64_t regular =
      ClusterIn(FindAttribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)).Blocks();
  const uint64_t preferred = ClusterIn(FindAttribute(config, kPreferredClusterDimension)).Blocks();
  return regular > preferred ? regular : preferred;
}

/*! \brief The cluster that a kernel was compiled for; false where the driver does not say. */
bool FindFixedCluster(CUkernel kernel, int device, ClusterShape* cluster);

/*! \brief Blocks of a cluster that every device with clusters takes; more are opted into. */
constexpr uint64_t kPortableClusterBlocks = 8;

/*!
 * \brief What a kernel has been opted into, device by device: dynamic shared memory above the
 * 48 KB that every kernel has, clusters of more than 8 blocks.
 */
struct KernelLimits {
  uint32_t smem_everywhere = 0;  // bytes that every device allows without asking
  uint32_t smem[kMaxDevices] = {};
  uint8_t clusters[kMaxDevices] = {};  // whether large ones are allowed
  int32_t own_cluster = -1;  // blocks that the kernel was compiled for, 0: none; -1: not read

  /*! \brief Whether `bytes` of dynamic shared memory are allowed already (0 is, always). */
  bool CoversSmem(int device, uint32_t bytes) const {
    return bytes <= smem_everywhere ||
           (device < kMaxDevices && bytes <= __atomic_load_n(&smem[device], __ATOMIC_RELAXED));
  }

  /*! \brief Whether clusters of so many blocks need no opting in any more. */
  bool CoversCluster(int device, uint64_t blocks) const {
    return blocks <= kPortableClusterBlocks ||
           (device < kMaxDevices && __atomic_load_n(&clusters[device], __ATOMIC_RELAXED) != 0);
  }

  /*!
   * \brief Opts into all the shared memory that a device has beside the kernel's static one, so
   * that launches of different sizes from several threads never lower each other's limit.
   */
  Status RaiseSmem(CUkernel kernel, int device);

  /*! \brief Opts into clusters as large as a device has them. */
  Status AllowClusters(CUkernel kernel, int device);

  /*! \brief Opts into what a launch on a device (-1: the current one) needs. */
  Status OptIn(CUkernel kernel, int device, const CUlaunchConfig& config) {
    const uint64_t asked = LargestClusterBlocks(config);
    const bool is_plain = config.sharedMemBytes == 0 && asked <= kPortableClusterBlocks;
    const int own = __atomic_load_n(&own_cluster, __ATOMIC_RELAXED);
    // Compared unsigned, -1 is more than any.
    const bool is_small = static_cast<uint32_t>(own) <= kPortableClusterBlocks;
    return __builtin_expect(is_plain && is_small, 1) ? Status() : OptInto(kernel, device, config);
  }

  /*! \brief Forgets what was opted into, as unloading the image does. */
  void Reset() {
    __builtin_memset(smem, 0, sizeof(smem));
    __builtin_memset(clusters, 0, sizeof(clusters));
  }

 private:
  Status OptInto(CUkernel kernel, int device, const CUlaunchConfig& config);
};

TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxPotentialClusterSize, 11070)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxActiveClusters, 11070)

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
 * \param limits Where given, what the launch needs is opted into first, as a launch does.
 */
Status FindOccupancy(CUkernel kernel, int device, const CUlaunchConfig& config,
                     Occupancy* occupancy, KernelLimits* limits = nullptr);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

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

TVMFFI_CUBIN_SHARED Status KernelLimits::OptInto(CUkernel kernel, int device,
                                                 const CUlaunchConfig& config) {
  if (device < 0) device = CurrentDevice();
  int own = __atomic_load_n(&own_cluster, __ATOMIC_RELAXED);
  if (own < 0) {  // before the first launch: a refusal that told of it would end a graph's capture
    CaptureScope relaxed;
    ClusterShape fixed;
    const bool is_known = FindFixedCluster(kernel, device, &fixed);  // else the launch says why
    own = static_cast<int>(fixed.Blocks());
    if (is_known) __atomic_store_n(&own_cluster, own, __ATOMIC_RELAXED);
  }
  Status status;
  if (!CoversSmem(device, config.sharedMemBytes)) status = RaiseSmem(kernel, device);
  const bool is_covered = CoversCluster(device, LargestClusterBlocks(config)) &&
                          CoversCluster(device, static_cast<uint64_t>(own));
  return !status.ok() || is_covered ? status : AllowClusters(kernel, device);
}

TVMFFI_CUBIN_COLD Status KernelLimits::RaiseSmem(CUkernel kernel, int device) {
  CaptureScope relaxed;
  const int optin = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  int fixed = 0;
  CUresult result =
      entry::cuKernelGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, device);
  if (result != CUDA_SUCCESS) return {result, "cuKernelGetAttribute"};
  result = entry::cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       optin - fixed, kernel, device);
  if (result == CUDA_SUCCESS && device < kMaxDevices) {
    __atomic_store_n(&smem[device], static_cast<uint32_t>(optin - fixed), __ATOMIC_RELAXED);
  }
  return {result, "cuKernelSetAttribute"};
}

TVMFFI_CUBIN_COLD Status KernelLimits::AllowClusters(CUkernel kernel, int device) {
  CaptureScope relaxed;
  const CUresult result = entry::cuKernelSetAttribute(
      CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernel, device);
  if (result == CUDA_SUCCESS && device < kMaxDevices) {
    __atomic_store_n(&clusters[device], uint8_t{1}, __ATOMIC_RELAXED);
  }
  return {result, "cuKernelSetAttribute"};
}

/*! \brief Fills in what concerns clusters; the device, which has them, is current. */
TVMFFI_CUBIN_COLD Status FindClusterOccupancy(CUfunction function, const ClusterShape& fixed,
                                              const ClusterShape& cluster, CUlaunchConfig config,
                                              Occupancy* occupancy) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = cluster.x;
  attribute.value.clusterDim.y = cluster.y;
  attribute.value.clusterDim.z = cluster.z;
  config.hStream = nullptr;  // the driver would take the stream's device
  config.attrs = &attribute;
  config.numAttrs = 0;
  // The driver refuses a grid that is open, and one that is not of whole clusters.
  config.gridDimX = cluster.x == 0 ? 1 : cluster.x;
  config.gridDimY = cluster.y == 0 ? 1 : cluster.y;
  config.gridDimZ = cluster.z == 0 ? 1 : cluster.z;
  CUresult result =
      entry::cuOccupancyMaxPotentialClusterSize(&occupancy->cluster_blocks, function, &config);
  // What the driver says of a kernel whose own cluster is larger than it may be.
  if (result == CUDA_ERROR_INVALID_CLUSTER_SIZE) occupancy->cluster_blocks = 0, result = {};
  if (result != CUDA_SUCCESS) return {result, "cuOccupancyMaxPotentialClusterSize"};
  // Of any other such kernel it tells what would fit if its size were free.
  if (fixed.x != 0 && fixed.Blocks() < static_cast<uint64_t>(occupancy->cluster_blocks)) {
    occupancy->cluster_blocks = static_cast<int>(fixed.Blocks());
  }
  if (cluster.x == 0) return {};
  config.numAttrs = 1;
  result = entry::cuOccupancyMaxActiveClusters(&occupancy->clusters, function, &config);
  // One that the device cannot have at all is no failure: none of them fits.
  if (result == CUDA_ERROR_INVALID_CLUSTER_SIZE) occupancy->clusters = 0, result = {};
  return {result, "cuOccupancyMaxActiveClusters"};
}

TVMFFI_CUBIN_COLD Status FindOccupancy(CUkernel kernel, int device, const CUlaunchConfig& config,
                                       Occupancy* occupancy, KernelLimits* limits) {
  CaptureScope relaxed;
  DeviceScope scope;
  *occupancy = Occupancy();
  Status status = scope.Enter(device);
  const bool has_clusters = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) > 0;
  if (status.ok() && limits != nullptr) {
    status = limits->OptIn(kernel, device, config);
    if (status.ok() && has_clusters && !limits->CoversCluster(device, kPortableClusterBlocks + 1)) {
      status = limits->AllowClusters(kernel, device);
    }
  }
  if (!status.ok()) return status;
  ClusterShape fixed;
  FindFixedCluster(kernel, device, &fixed);
  const auto* asked = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  const ClusterShape cluster = asked != nullptr ? ClusterIn(asked) : fixed;
  const auto function = reinterpret_cast<CUfunction>(kernel);
  const uint64_t threads = Volume(config.blockDimX, config.blockDimY, config.blockDimZ);
  const CUresult result = entry::cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &occupancy->blocks_per_sm, function,
      threads < INT32_MAX ? static_cast<int>(threads) : INT32_MAX, config.sharedMemBytes);
  if (result != CUDA_SUCCESS) return {result, "cuOccupancyMaxActiveBlocksPerMultiprocessor"};
  if (has_clusters) status = FindClusterOccupancy(function, fixed, cluster, config, occupancy);
  if (DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) > 0) {
    occupancy->cooperative_blocks =
        cluster.Blocks() > 1
            ? static_cast<int64_t>(occupancy->clusters * cluster.Blocks())
            : static_cast<int64_t>(occupancy->blocks_per_sm) *
                  DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  }
  return status;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_OCCUPANCY_H_
