// Limits of a kernel on a device: more than the defaults, once it is opted in; how much of a launch
// fits at once; which limit a launch exceeds.
#pragma once

#include "library.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelSetAttribute, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxPotentialClusterSize, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxActiveClusters, 12000)

// Loads a kernel on a device, as setting an attribute does, and opts its launches there in to all
// the dynamic shared memory, so that threads never lower each other's limit, and to clusters of
// more than 8 blocks.
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

// One bit per device on which a kernel is opted in, which precedes its first launch there: a
// rejected launch would end a graph capture. It takes 2 us and slows no launch (H200, driver 580).
struct OptedIn {
  uint64_t devices = 0;
  static_assert(kMaxDevices <= 64);

  Status Ensure(CUkernel kernel, int device) {
    const uint64_t bit = UINT64_C(1) << device;
    if (__builtin_expect((__atomic_load_n(&devices, __ATOMIC_RELAXED) & bit) != 0, 1)) return {};
    const Status status = OptIn(kernel, device);
    if (status.ok()) __atomic_fetch_or(&devices, bit, __ATOMIC_RELAXED);
    return status;
  }
};

inline uint64_t Volume(uint32_t x, uint32_t y, uint32_t z) { return uint64_t{x} * y * z; }

// An attribute of a launch; null if it is not set.
inline const CUlaunchAttributeValue* FindAttribute(const CUlaunchConfig& config,
                                                   CUlaunchAttributeID id) {
  for (unsigned i = config.attrs == nullptr ? 0 : config.numAttrs; i > 0; --i) {
    if (config.attrs[i - 1].id == id) return &config.attrs[i - 1].value;
  }
  return nullptr;
}

// Blocks per cluster in each dimension; all 0: no cluster.
struct ClusterShape {
  uint32_t size[3] = {};
  bool is_fixed = false;  // the kernel was compiled for it
  uint64_t Blocks() const { return Volume(size[0], size[1], size[2]); }
};

// The cluster that a launch sets by attribute, else the kernel's own.
TVMFFI_CUBIN_COLD ClusterShape ClusterOf(CUkernel kernel, int device,
                                         const CUlaunchConfig& config) {
  const auto* value = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  if (value != nullptr) return {{value->clusterDim.x, value->clusterDim.y, value->clusterDim.z}};
  ClusterShape shape;
  for (int i = 0; i < 3; ++i) {
    const int attribute = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i;  // height and depth follow
    const int size = KernelAttribute(kernel, device, static_cast<CUfunction_attribute>(attribute));
    shape.size[i] = size < 0 ? 0 : static_cast<uint32_t>(size);
  }
  shape.is_fixed = shape.size[0] != 0;
  return shape;
}

// How much of one kernel in one shape fits on a device at once.
struct Occupancy {
  int blocks_per_sm = 0;           // blocks that fit on one multiprocessor
  int64_t cooperative_blocks = 0;  // largest cooperative grid; 0 if the device has none
  int cluster_blocks = 1;  // of the largest cluster; 1 if the device has none, 0 if none fits
  int clusters = 0;        // clusters of the launch's size; 0 if it has no cluster
};

// Finds how much of a launch fits on the current device at once, for a kernel that is opted in; the
// configuration's grid and stream are ignored.
TVMFFI_CUBIN_COLD Status FindOccupancy(CUkernel kernel, int device, const CUlaunchConfig& asked,
                                       Occupancy* found) {
  CaptureScope relaxed;
  const ClusterShape cluster = ClusterOf(kernel, device, asked);
  const auto function = reinterpret_cast<CUfunction>(kernel);
  const auto threads = static_cast<int>(Volume(asked.blockDimX, asked.blockDimY, asked.blockDimZ));
  const CUresult result = entry::cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &found->blocks_per_sm, function, threads, asked.sharedMemBytes);
  if (result != CUDA_SUCCESS) return {result, "cuOccupancyMaxActiveBlocksPerMultiprocessor"};
  if (DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) > 0) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {cluster.size[0], cluster.size[1], cluster.size[2]};
    // One cluster, since the driver rejects a grid that is unset or not of whole clusters, and no
    // stream, since the driver would use its device.
    CUlaunchConfig config = asked;
    unsigned* const grid = &config.gridDimX;
    for (int i = 0; i < 3; ++i) grid[i] = cluster.size[i] == 0 ? 1 : cluster.size[i];
    config.hStream = nullptr;
    config.attrs = &attribute;
    config.numAttrs = 0;
    // If the device cannot have it, this fails and leaves the 0: none fits.
    found->cluster_blocks = 0;
    entry::cuOccupancyMaxPotentialClusterSize(&found->cluster_blocks, function, &config);
    // For a kernel with a fixed cluster, this is what would fit if its size were free.
    const auto own = static_cast<int>(cluster.Blocks());
    if (cluster.is_fixed && own < found->cluster_blocks) found->cluster_blocks = own;
    config.numAttrs = 1;
    if (cluster.size[0] != 0) {
      entry::cuOccupancyMaxActiveClusters(&found->clusters, function, &config);
    }
  }
  if (DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) > 0) {
    const int sms = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    // Fewer clusters of one block fit than blocks without clusters.
    found->cooperative_blocks = cluster.Blocks() > 1 || found->clusters != 0
                                    ? static_cast<int64_t>(found->clusters * cluster.Blocks())
                                    : int64_t{found->blocks_per_sm} * sms;
  }
  return {};
}

// The figures of a launch's shape, the first words of its configuration.
inline constexpr const char* kFigures[] = {
    "grid.x", "grid.y", "grid.z", "block.x", "block.y", "block.z", "dynamic_smem_bytes"};

// Adds what is wrong with a launch: a limit, "grid.y is 70000, but device 0 allows 65535", or what
// the driver's result implies. False if that is not known. The kernel is opted in.
TVMFFI_CUBIN_COLD bool AddLimit(CUkernel kernel, int device, const CUlaunchConfig& config,
                                CUresult answer, Text* text) {
  const unsigned* const asked = &config.gridDimX;  // and the others after it
  for (int i = 0; i < 6; ++i) {
    // CUDA numbers block limits before grid limits.
    const int limit = CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + (i + 3) % 6;
    const int most = DeviceAttribute(device, static_cast<CUdevice_attribute>(limit));
    if (asked[i] == 0) return text->Add("%s must be at least 1, got 0", kFigures[i]);
    if (asked[i] > static_cast<unsigned>(most)) {
      return text->Add("%s is %u, but device %d allows %d", kFigures[i], asked[i], device, most);
    }
  }
  const uint64_t threads = Volume(config.blockDimX, config.blockDimY, config.blockDimZ);
  const int registers = KernelAttribute(kernel, device, CU_FUNC_ATTRIBUTE_NUM_REGS);
  int most = KernelAttribute(kernel, device, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (threads > static_cast<uint64_t>(most)) {
    return text->Add(
        "the block has %lu threads, but the kernel (%d registers/thread) allows %d on device %d",
        threads, registers, most, device);
  }
  most = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
         KernelAttribute(kernel, device, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  if (most > 0 && config.sharedMemBytes > static_cast<unsigned>(most)) {
    return text->Add("dynamic_smem_bytes is %u, but device %d allows this kernel %d",
                     config.sharedMemBytes, device, most);
  }
  const ClusterShape cluster = ClusterOf(kernel, device, config);
  for (int i = 0; i < 3; ++i) {
    if (cluster.size[i] != 0 && asked[i] % cluster.size[i] != 0) {
      return text->Add(
          "%s is %u, expected a multiple of cluster.%c, %u: a grid counts blocks, not clusters",
          kFigures[i], asked[i], 'x' + i, cluster.size[i]);
    }
  }
  const auto* cooperative = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  const bool is_cooperative = cooperative != nullptr && cooperative->cooperative != 0;
  const uint64_t blocks = cluster.Blocks(), grid = Volume(asked[0], asked[1], asked[2]);
  Occupancy room;
  if ((is_cooperative || blocks != 0) && FindOccupancy(kernel, device, config, &room).ok()) {
    if (blocks > static_cast<uint64_t>(room.cluster_blocks)) {
      return text->Add("the cluster has %lu blocks, but device %d allows %d of this shape", blocks,
                       device, room.cluster_blocks);
    }
    if (is_cooperative && grid > static_cast<uint64_t>(room.cooperative_blocks)) {
      return text->Add(
          "the cooperative grid has %lu blocks, but device %d can hold %ld of this shape at once",
          grid, device, room.cooperative_blocks);
    }
  }
  return answer == CUDA_ERROR_NOT_SUPPORTED &&
         text->Add("programmatic launches require sm_90, and events without timing");
}

// The limit that a thread's last rejected launch exceeded: "launch of k: grid.y is 70000, ...".
struct LaunchProblem {
  CUresult result = CUDA_SUCCESS;  // the driver's result; CUDA_SUCCESS: there is none
  char text[1024] = "";

  void Set(CUresult answer, const Text& what) {
    result = answer;
    snprintf(text, sizeof(text), "%s", what.chars);
  }
};
inline thread_local LaunchProblem launch_problem;

// Records which limit a rejected launch exceeded; its device is current.
TVMFFI_CUBIN_COLD Status NoteRefusal(const Status& status, CUkernel kernel, int device,
                                     const CUlaunchConfig& config) {
  Text text;
  text.Add("launch of %.100s: ", KernelName(kernel));
  const bool is_known = AddLimit(kernel, device, config, status.result, &text);
  launch_problem.Set(is_known ? status.result : CUDA_SUCCESS, text);
  return status;
}

TVMFFI_CUBIN_END
