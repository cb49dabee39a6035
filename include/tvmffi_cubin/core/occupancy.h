/*!
 * \file tvmffi_cubin/core/occupancy.h
 * \brief Clusters of a launch, what fits a device at once, and loading a kernel there.
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
  if (config.attrs == nullptr) return nullptr;
  for (unsigned i = config.numAttrs; i > 0; --i) {
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

/*! \brief The cluster that a kernel was compiled for, if any. */
Status FindFixedCluster(const Driver* driver, CUkernel kernel, int device, ClusterShape* cluster);

/*! \brief The cluster of a launch: the attribute's, else the one that the kernel fixes. */
Status FindCluster(const Driver* driver, CUkernel kernel, int device, const CUlaunchConfig& config,
                   ClusterShape* cluster);

/*!
 * \brief Finds how much of a launch fits a device at once. Of the configuration, block, dynamic
 * shared memory and cluster count; grid and stream do not.
 * \param smem Where given, larger dynamic shared memory is opted into first, as a launch does.
 * \param clusters Where given, clusters beyond the portable size are opted into first.
 */
Status FindOccupancy(const Driver* driver, CUkernel kernel, int device,
                     const CUlaunchConfig& config, Occupancy* occupancy,
                     DynamicSmemLimits* smem = nullptr, ClusterLimits* clusters = nullptr);

TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetFunction, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuFuncLoad, 12040)

/*! \brief Loads a kernel in the current context. */
Status LoadHere(CUkernel kernel);

/*!
 * \brief Loads a kernel on a device; -1: the current one, 0 in a thread that has none.
 * \param clusters Where a large cluster that the kernel was compiled for is opted into.
 */
Status LoadOnDevice(const Driver* driver, CUkernel kernel, int device, ClusterLimits* clusters);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

/*! \brief Reads a device attribute. */
TVMFFI_CUBIN_COLD Status ReadDeviceAttribute(const Driver* driver, int device,
                                             CUdevice_attribute attribute, int* value) {
  CUdevice handle = 0;
  const CUresult result = driver->cuDeviceGet(&handle, device);
  if (result != CUDA_SUCCESS) return {result, "cuDeviceGet"};
  return {driver->cuDeviceGetAttribute(value, attribute, handle), "cuDeviceGetAttribute"};
}

TVMFFI_CUBIN_COLD Status FindFixedCluster(const Driver* driver, CUkernel kernel, int device,
                                          ClusterShape* cluster) {
  CUdevice handle = 0;
  CUresult result = driver->cuDeviceGet(&handle, device);
  if (result != CUDA_SUCCESS) return {result, "cuDeviceGet"};
  const struct {
    CUfunction_attribute attribute;
    uint32_t* size;
  } rows[] = {{CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &cluster->x},
              {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &cluster->y},
              {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &cluster->z}};
  for (const auto& row : rows) {
    int size = 0;
    result = driver->cuKernelGetAttribute(&size, row.attribute, kernel, handle);
    if (result != CUDA_SUCCESS) return {result, "cuKernelGetAttribute"};
    *row.size = static_cast<uint32_t>(size);
  }
  return {};
}

TVMFFI_CUBIN_COLD Status FindCluster(const Driver* driver, CUkernel kernel, int device,
                                     const CUlaunchConfig& config, ClusterShape* cluster) {
  *cluster = ClusterIn(FindAttribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
  return cluster->x != 0 ? Status() : FindFixedCluster(driver, kernel, device, cluster);
}

/*! \brief Fills in what concerns clusters; the device, which has them, is current. */
TVMFFI_CUBIN_COLD Status FindClusterOccupancy(const Driver* driver, CUkernel kernel, int device,
                                              const CUlaunchConfig& config,
                                              const ClusterShape& cluster, Occupancy* occupancy) {
  ClusterShape fixed = cluster;
  if (FindAttribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) != nullptr) {
    const Status status = FindFixedCluster(driver, kernel, device, &fixed);
    if (!status.ok()) return status;
  }
  const CUfunction function = reinterpret_cast<CUfunction>(kernel);
  CUlaunchConfig shape = config;
  shape.hStream = nullptr;  // the driver would take the stream's device
  shape.attrs = nullptr;
  shape.numAttrs = 0;
  // The driver refuses a grid that is open, and one that is not of whole clusters.
  shape.gridDimX = cluster.x == 0 ? 1 : cluster.x;
  shape.gridDimY = cluster.y == 0 ? 1 : cluster.y;
  shape.gridDimZ = cluster.z == 0 ? 1 : cluster.z;
  CUresult result =
      entry::cuOccupancyMaxPotentialClusterSize(&occupancy->cluster_blocks, function, &shape);
  // What the driver says of a kernel whose own cluster is larger than it may be.
  if (result == CUDA_ERROR_INVALID_CLUSTER_SIZE) occupancy->cluster_blocks = 0, result = {};
  if (result != CUDA_SUCCESS) return {result, "cuOccupancyMaxPotentialClusterSize"};
  // Of any other such kernel it tells what would fit if its size were free.
  if (fixed.x != 0 && fixed.Blocks() < static_cast<uint64_t>(occupancy->cluster_blocks)) {
    occupancy->cluster_blocks = static_cast<int>(fixed.Blocks());
  }
  if (cluster.x == 0) return {};
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = cluster.x;
  attribute.value.clusterDim.y = cluster.y;
  attribute.value.clusterDim.z = cluster.z;
  shape.attrs = &attribute;
  shape.numAttrs = 1;
  result = entry::cuOccupancyMaxActiveClusters(&occupancy->clusters, function, &shape);
  // One that the device cannot have at all is no failure: none of them fits.
  if (result == CUDA_ERROR_INVALID_CLUSTER_SIZE) occupancy->clusters = 0, result = {};
  return {result, "cuOccupancyMaxActiveClusters"};
}

TVMFFI_CUBIN_COLD Status FindOccupancy(const Driver* driver, CUkernel kernel, int device,
                                       const CUlaunchConfig& config, Occupancy* occupancy,
                                       DynamicSmemLimits* smem, ClusterLimits* clusters) {
  CaptureScope relaxed;
  *occupancy = Occupancy();
  DeviceScope scope;
  Status status = scope.Enter(driver, device);
  int has_clusters = 0, cooperates = 0, multiprocessors = 0, most = 0;
  const struct {
    CUdevice_attribute attribute;
    int* value;
  } rows[] = {{CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, &has_clusters},
              {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, &cooperates},
              {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &multiprocessors}};
  for (const auto& row : rows) {
    if (status.ok()) status = ReadDeviceAttribute(driver, device, row.attribute, row.value);
  }
  if (status.ok() && smem != nullptr && !smem->Covers(device, config.sharedMemBytes)) {
    status = smem->Raise(driver, kernel, device, &most);
  }
  if (status.ok() && clusters != nullptr && has_clusters &&
      !clusters->Covers(device, kPortableClusterBlocks + 1)) {
    status = clusters->Allow(driver, kernel, device);
  }
  ClusterShape cluster;
  if (status.ok()) status = FindCluster(driver, kernel, device, config, &cluster);
  if (!status.ok()) return status;
  const uint64_t threads = Volume(config.blockDimX, config.blockDimY, config.blockDimZ);
  const CUresult result = entry::cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &occupancy->blocks_per_sm, reinterpret_cast<CUfunction>(kernel),
      threads < INT32_MAX ? static_cast<int>(threads) : INT32_MAX, config.sharedMemBytes);
  if (result != CUDA_SUCCESS) return {result, "cuOccupancyMaxActiveBlocksPerMultiprocessor"};
  if (has_clusters) {
    status = FindClusterOccupancy(driver, kernel, device, config, cluster, occupancy);
  }
  if (!status.ok() || !cooperates) return status;
  occupancy->cooperative_blocks =
      cluster.Blocks() > 1 ? static_cast<int64_t>(occupancy->clusters * cluster.Blocks())
                           : static_cast<int64_t>(occupancy->blocks_per_sm) * multiprocessors;
  return {};
}

TVMFFI_CUBIN_COLD Status LoadHere(CUkernel kernel) {
  CaptureScope relaxed;
  CUfunction function = nullptr;
  const CUresult result = entry::cuKernelGetFunction(&function, kernel);
  // A driver before 12.4 cannot do more than this.
  if (result != CUDA_SUCCESS || entry::cuFuncLoad.Find() == nullptr) {
    return {result, "cuKernelGetFunction"};
  }
  return {entry::cuFuncLoad(function), "cuFuncLoad"};
}

TVMFFI_CUBIN_COLD Status LoadOnDevice(const Driver* driver, CUkernel kernel, int device,
                                      ClusterLimits* clusters) {
  if (device < 0) device = CurrentDevice(driver);
  DeviceScope scope;
  ClusterShape fixed;
  Status status = scope.Enter(driver, device);
  if (status.ok()) status = LoadHere(kernel);
  if (status.ok()) status = FindFixedCluster(driver, kernel, device, &fixed);
  if (!status.ok()) return status;
  clusters->SetOwnBlocks(fixed.Blocks());
  if (clusters->Covers(device, fixed.Blocks())) return status;
  return clusters->Allow(driver, kernel, device);
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_OCCUPANCY_H_
