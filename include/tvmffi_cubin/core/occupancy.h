// What a kernel may have on a device: more than the defaults, once it is opted in, and how much of
// a launch fits at once.
#pragma once

#include "library.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelSetAttribute, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxPotentialClusterSize, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxActiveClusters, 12000)

// Loads a kernel on a device and lets its launches there have all the dynamic shared memory that
// there is beside its static one, so that launches of different sizes from several threads never
// lower each other's limit, and clusters of more than 8 blocks where the device has clusters.
// Setting an attribute loads the kernel as cuFuncLoad does.
TVMFFI_CUBIN_COLD Status OptIn(CUkernel kernel, int device) {
  CaptureScope relaxed;
  int own = 0;
  CUresult result =
      entry::cuKernelGetAttribute(&own, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, device);
  if (result != CUDA_SUCCESS) return {result, "cuKernelGetAttribute"};
  const int most = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  result = entry::cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - own,
                                       kernel, device);
  if (DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) > 0) {
    entry::cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernel,
                                device);
  }
  return {result, "cuKernelSetAttribute"};
}

// The devices on which a kernel has been opted in, a bit each. That comes before the first launch
// there: a refusal that told of a need for it would end a graph's capture. It takes 2 us, and no
// launch that could do without it is slower (H200, driver 580).
struct OptedIn {
  uint64_t devices = 0;
  static_assert(kMaxDevices <= 64);

  // Where the driver refuses, a launch that goes ahead reports what it lacks.
  Status Ensure(CUkernel kernel, int device) {
    const uint64_t bit = UINT64_C(1) << device;
    if (__builtin_expect((__atomic_load_n(&devices, __ATOMIC_RELAXED) & bit) != 0, 1)) return {};
    const Status status = OptIn(kernel, device);
    if (status.ok()) __atomic_fetch_or(&devices, bit, __ATOMIC_RELAXED);
    return status;
  }
};

// The product of three sizes, UINT64_MAX where it is beyond 64 bits.
inline uint64_t Volume(uint32_t x, uint32_t y, uint32_t z) {
  uint64_t volume = 0;
  return __builtin_mul_overflow(uint64_t{x} * y, uint64_t{z}, &volume) ? UINT64_MAX : volume;
}

// An attribute of a launch; null where it has none.
inline const CUlaunchAttributeValue* FindAttribute(const CUlaunchConfig& config,
                                                   CUlaunchAttributeID id) {
  for (unsigned i = config.attrs == nullptr ? 0 : config.numAttrs; i > 0; --i) {
    if (config.attrs[i - 1].id == id) return &config.attrs[i - 1].value;
  }
  return nullptr;
}

// Blocks of a cluster along each dimension; all 0: no cluster.
struct ClusterShape {
  uint32_t size[3] = {};
  uint64_t Blocks() const { return Volume(size[0], size[1], size[2]); }
};

// The cluster that a kernel was compiled for; zeros where it was compiled for none.
TVMFFI_CUBIN_COLD ClusterShape FixedCluster(CUkernel kernel, int device) {
  constexpr CUfunction_attribute kSizes[] = {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
                                             CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
                                             CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH};
  ClusterShape shape;
  for (int i = 0; i < 3; ++i) {
    const int size = KernelAttribute(kernel, device, kSizes[i]);
    shape.size[i] = size < 0 ? 0 : static_cast<uint32_t>(size);
  }
  return shape;
}

// The cluster that a launch asks for by an attribute; else the kernel's own.
inline ClusterShape ClusterOf(const CUlaunchConfig& config, const ClusterShape& fixed) {
  const auto* value = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  if (value == nullptr) return fixed;
  return {{value->clusterDim.x, value->clusterDim.y, value->clusterDim.z}};
}

// What fits a device at once, of one kernel in one shape.
struct Occupancy {
  int blocks_per_sm = 0;           // blocks that one multiprocessor holds
  int64_t cooperative_blocks = 0;  // largest cooperative grid; 0 where the device has none
  int cluster_blocks = 1;  // of the largest cluster; 1 where the device has none, 0 where none fits
  int clusters = 0;        // clusters of the launch's size; 0 where it has no cluster
};

// Finds how much of a launch fits a device at once, which is current, of a kernel that is opted in.
// Of the configuration, block, dynamic shared memory and cluster count; grid and stream do not.
TVMFFI_CUBIN_COLD Status FindOccupancy(CUkernel kernel, int device, const CUlaunchConfig& asked,
                                       Occupancy* found) {
  CaptureScope relaxed;
  const ClusterShape fixed = FixedCluster(kernel, device), cluster = ClusterOf(asked, fixed);
  const auto function = reinterpret_cast<CUfunction>(kernel);
  const uint64_t threads = Volume(asked.blockDimX, asked.blockDimY, asked.blockDimZ);
  const CUresult result = entry::cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &found->blocks_per_sm, function, threads < INT32_MAX ? static_cast<int>(threads) : INT32_MAX,
      asked.sharedMemBytes);
  if (result != CUDA_SUCCESS) return {result, "cuOccupancyMaxActiveBlocksPerMultiprocessor"};
  if (DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) > 0) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {cluster.size[0], cluster.size[1], cluster.size[2]};
    // One cluster, since the driver refuses a grid that is open or not of whole clusters, and no
    // stream, whose device it would take.
    CUlaunchConfig config = asked;
    unsigned* const grid = &config.gridDimX;
    for (int i = 0; i < 3; ++i) grid[i] = cluster.size[i] == 0 ? 1 : cluster.size[i];
    config.hStream = nullptr;
    config.attrs = &attribute;
    config.numAttrs = 0;
    // What the device cannot have is refused and leaves the 0: none fits.
    found->cluster_blocks = 0;
    entry::cuOccupancyMaxPotentialClusterSize(&found->cluster_blocks, function, &config);
    // Of a kernel with a cluster of its own it tells what would fit if its size were free.
    if (fixed.Blocks() != 0 && fixed.Blocks() < static_cast<uint64_t>(found->cluster_blocks)) {
      found->cluster_blocks = static_cast<int>(fixed.Blocks());
    }
    config.numAttrs = 1;
    if (cluster.size[0] != 0) {
      entry::cuOccupancyMaxActiveClusters(&found->clusters, function, &config);
    }
  }
  if (DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) > 0) {
    const int sms = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    found->cooperative_blocks = cluster.Blocks() > 1
                                    ? static_cast<int64_t>(found->clusters * cluster.Blocks())
                                    : int64_t{found->blocks_per_sm} * sms;
  }
  return {};
}

TVMFFI_CUBIN_END
