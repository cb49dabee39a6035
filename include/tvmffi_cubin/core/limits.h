/*!
 * \file tvmffi_cubin/core/limits.h
 * \brief What a launch asks of a device: opting into more than the defaults, how much of it fits,
 * and which limit a refused one goes over.
 */
#pragma once

#include <stdarg.h>

#include "library.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelSetAttribute, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxPotentialClusterSize, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxActiveClusters, 12000)

// By number: headers before CUDA 12.8 lack some of these, and what is built with them may meet a
// newer driver. The preferred cluster's value is laid out as `clusterDim`.
constexpr CUlaunchAttributeID kPreferredClusterDimension = static_cast<CUlaunchAttributeID>(11);
constexpr CUlaunchAttributeID kLaunchCompletionEvent = static_cast<CUlaunchAttributeID>(12);

/*! \brief The product of three sizes, UINT64_MAX where it is beyond 64 bits. */
inline uint64_t Volume(uint32_t x, uint32_t y, uint32_t z) {
  uint64_t volume = 0;
  return __builtin_mul_overflow(uint64_t{x} * y, uint64_t{z}, &volume) ? UINT64_MAX : volume;
}

/*! \brief Blocks of a cluster along each dimension; all 0: no cluster. */
struct ClusterShape {
  uint32_t size[3] = {};
  uint64_t Blocks() const { return Volume(size[0], size[1], size[2]); }
};

/*! \brief The cluster that a kernel was compiled for; zeros where it was compiled for none. */
ClusterShape FixedCluster(CUkernel kernel, int device);

/*! \brief An attribute of a launch; null where it has none. */
inline const CUlaunchAttributeValue* FindAttribute(const CUlaunchConfig& config,
                                                   CUlaunchAttributeID id) {
  for (unsigned i = config.attrs == nullptr ? 0 : config.numAttrs; i > 0; --i) {
    if (config.attrs[i - 1].id == id) return &config.attrs[i - 1].value;
  }
  return nullptr;
}

/*! \brief The cluster that a launch asks for by an attribute; else the kernel's own. */
inline ClusterShape ClusterOf(const CUlaunchConfig& config, const ClusterShape& fixed) {
  const auto* value = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  if (value == nullptr) return fixed;
  return {{value->clusterDim.x, value->clusterDim.y, value->clusterDim.z}};
}

/*!
 * \brief Lets launches of a kernel on a device have all the dynamic shared memory that there is
 * beside its static one, so that launches of different sizes from several threads never lower each
 * other's limit, and clusters of more than 8 blocks where the device has clusters. Where the driver
 * refuses, the launch that needs it reports it.
 */
bool OptIn(CUkernel kernel, int device);

/*!
 * \brief Whether a launch may need that: it has clusters, or more dynamic shared memory than the
 * kernel may have everywhere. Others keep what the driver chooses, such as the size of the L1
 * cache.
 */
inline bool NeedsOptIn(const CUlaunchConfig& config, uint32_t everywhere) {
  return config.sharedMemBytes > everywhere ||
         (__builtin_expect(config.numAttrs != 0, 0) &&
          (FindAttribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) != nullptr ||
           FindAttribute(config, kPreferredClusterDimension) != nullptr));
}

/*! \brief The devices on which a kernel has been opted in, a bit each. */
struct OptedIn {
  uint64_t devices = 0;
  static_assert(kMaxDevices <= 64);

  bool IsOn(int device) const {
    return (__atomic_load_n(&devices, __ATOMIC_RELAXED) >> device & 1) != 0;
  }

  /*! \brief Opts in on a device, once. */
  void Ensure(CUkernel kernel, int device) {
    if (__builtin_expect(IsOn(device), 1) || !OptIn(kernel, device)) return;
    __atomic_fetch_or(&devices, UINT64_C(1) << device, __ATOMIC_RELAXED);
  }
};

/*! \brief What fits a device at once, of one kernel in one shape. */
struct Occupancy {
  int blocks_per_sm = 0;           // blocks that one multiprocessor holds
  int64_t cooperative_blocks = 0;  // largest cooperative grid; 0 where the device has none
  int cluster_blocks = 1;  // of the largest cluster; 1 where the device has none, 0 where none fits
  int clusters = 0;        // clusters of the launch's size; 0 where it has no cluster
};

/*!
 * \brief Finds how much of a launch fits a device at once, all that it has being opted into. Of the
 * configuration, block, dynamic shared memory and cluster count; grid and stream do not.
 */
Status FindOccupancy(CUkernel kernel, int device, const CUlaunchConfig& asked, Occupancy* found);

/*!
 * \brief Finds what a refused launch did wrong: a limit, or what the driver's answer tells of.
 * \param[out] text What is over which limit: "grid.y is 70000, device 0 allows 65535".
 * \return Whether that is known.
 */
bool FindRefusal(int device, CUkernel kernel, const CUlaunchConfig& config, CUresult answer,
                 char* text, size_t size);

/*! \brief What a thread's last refused launch went over: "launch of k: grid.y is 70000, ...". */
struct LaunchProblem {
  CUresult result = CUDA_SUCCESS;  // the driver's answer; CUDA_SUCCESS: there is none
  char text[512] = "";
};
inline thread_local LaunchProblem launch_problem;

/*! \brief Notes what a refused launch went over; its device is current. */
Status NoteRefusal(Status status, CUkernel kernel, const CUlaunchConfig& config);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

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

TVMFFI_CUBIN_COLD bool OptIn(CUkernel kernel, int device) {
  CaptureScope relaxed;
  const int most = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  const int own = KernelAttribute(kernel, device, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  if (most < 0 || own < 0) return false;
  entry::cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - own, kernel,
                              device);
  if (DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) > 0) {
    entry::cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernel,
                                device);
  }
  return true;
}

TVMFFI_CUBIN_COLD Status FindOccupancy(CUkernel kernel, int device, const CUlaunchConfig& asked,
                                       Occupancy* found) {
  CaptureScope relaxed;
  DeviceScope scope;
  *found = Occupancy();
  const Status status = scope.Enter(device);
  if (!status.ok()) return status;
  OptIn(kernel, device);
  const ClusterShape fixed = FixedCluster(kernel, device), cluster = ClusterOf(asked, fixed);
  const auto function = reinterpret_cast<CUfunction>(kernel);
  const uint64_t threads = Volume(asked.blockDimX, asked.blockDimY, asked.blockDimZ);
  CUresult result = entry::cuOccupancyMaxActiveBlocksPerMultiprocessor(
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
    result = entry::cuOccupancyMaxPotentialClusterSize(&found->cluster_blocks, function, &config);
    // What the driver says of a kernel whose own cluster is larger than it may be.
    if (result == CUDA_ERROR_INVALID_CLUSTER_SIZE) found->cluster_blocks = 0, result = {};
    if (result != CUDA_SUCCESS) return {result, "cuOccupancyMaxPotentialClusterSize"};
    // Of any other such kernel it tells what would fit if its size were free.
    if (fixed.Blocks() != 0 && fixed.Blocks() < static_cast<uint64_t>(found->cluster_blocks)) {
      found->cluster_blocks = static_cast<int>(fixed.Blocks());
    }
    config.numAttrs = 1;
    if (cluster.size[0] != 0) {
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

TVMFFI_CUBIN_COLD bool FindRefusal(int device, CUkernel kernel, const CUlaunchConfig& config,
                                   CUresult answer, char* text, size_t size) {
  const auto found = [=](auto... words) {
    snprintf(text, size, words...);
    return true;
  };
  constexpr const char* kNames[] = {"grid.x", "grid.y", "grid.z", "block.x", "block.y", "block.z"};
  constexpr CUdevice_attribute kLimits[] = {
      CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
      CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
      CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
  const unsigned* const asked = &config.gridDimX;  // and the others behind it
  for (int i = 0; i < 6; ++i) {
    const int most = DeviceAttribute(device, kLimits[i]);
    if (asked[i] == 0) return found("%s is 0, the least is 1", kNames[i]);
    if (most >= 0 && asked[i] > static_cast<unsigned>(most)) {
      return found("%s is %u, device %d allows %d", kNames[i], asked[i], device, most);
    }
  }
  const uint64_t threads = Volume(config.blockDimX, config.blockDimY, config.blockDimZ);
  const int registers = KernelAttribute(kernel, device, CU_FUNC_ATTRIBUTE_NUM_REGS);
  int most = KernelAttribute(kernel, device, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (most >= 0 && threads > static_cast<uint64_t>(most)) {
    return found(
        "the block has %lu threads, the kernel (%d registers a thread) allows %d on device %d",
        threads, registers, most, device);
  }
  most = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
         KernelAttribute(kernel, device, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  if (most > 0 && config.sharedMemBytes > static_cast<unsigned>(most)) {
    return found("dynamic_smem_bytes is %u, device %d allows this kernel %d", config.sharedMemBytes,
                 device, most);
  }
  const ClusterShape cluster = ClusterOf(config, FixedCluster(kernel, device));
  for (int i = 0; i < 3; ++i) {
    if (cluster.size[i] != 0 && asked[i] % cluster.size[i] != 0) {
      return found(
          "%s is %u, wanted a multiple of cluster.%c, %u: a grid counts blocks, with "
          "clusters too",
          kNames[i], asked[i], 'x' + i, cluster.size[i]);
    }
  }
  const int arch = DeviceArch(device);
  Occupancy room;
  if (FindOccupancy(kernel, device, config, &room).ok()) {
    const uint64_t blocks = cluster.Blocks(), grid = Volume(asked[0], asked[1], asked[2]);
    if (blocks > static_cast<uint64_t>(room.cluster_blocks)) {
      return found("the cluster has %lu blocks, device %d allows %d of this shape%s", blocks,
                   device, room.cluster_blocks, arch < 90 ? ": clusters begin with sm_90" : "");
    }
    const auto* cooperative = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    if (cooperative != nullptr && cooperative->cooperative != 0 &&
        grid > static_cast<uint64_t>(room.cooperative_blocks)) {
      return found(
          "the cooperative grid has %lu blocks, device %d can hold %ld of this shape at once", grid,
          device, room.cooperative_blocks);
    }
  }
  if (answer != CUDA_ERROR_NOT_SUPPORTED) return false;
  const bool has_event = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) != nullptr ||
                         FindAttribute(config, kLaunchCompletionEvent) != nullptr;
  if (arch < 90 &&
      (has_event ||
       FindAttribute(config, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) != nullptr)) {
    return found("device %d (sm_%d) has no programmatic launches, which begin with sm_90", device,
                 arch);
  }
  return has_event && found(
                          "its event may have been made with timing: it must be made without "
                          "(CU_EVENT_DISABLE_TIMING; torch.cuda.Event() is)");
}

TVMFFI_CUBIN_COLD Status NoteRefusal(Status status, CUkernel kernel, const CUlaunchConfig& config) {
  LaunchProblem* const problem = &launch_problem;
  char limit[384];
  problem->result = CUDA_SUCCESS;
  if (FindRefusal(CurrentDevice(), kernel, config, status.result, limit, sizeof(limit))) {
    snprintf(problem->text, sizeof(problem->text), "launch of %.100s: %s", KernelName(kernel),
             limit);
    problem->result = status.result;
    status.is_limit = true;
  }
  return status;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END
