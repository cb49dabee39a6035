// Which limit a launch goes over.
#pragma once

#include "occupancy.h"

TVMFFI_CUBIN_BEGIN

// The figures of a launch's shape, the first words of its configuration.
inline constexpr const char* kFigures[] = {
    "grid.x", "grid.y", "grid.z", "block.x", "block.y", "block.z", "dynamic_smem_bytes"};

// Adds what is wrong with a launch: a limit, "grid.y is 70000, device 0 allows 65535", or what the
// driver's answer tells of. False where that is not known. The kernel is opted in.
TVMFFI_CUBIN_COLD bool AddLimit(CUkernel kernel, int device, const CUlaunchConfig& config,
                                CUresult answer, Text* text) {
  const unsigned* const asked = &config.gridDimX;  // and the others behind it
  for (int i = 0; i < 6; ++i) {
    // CUDA has the limits of a block before those of a grid.
    const int limit = CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + (i + 3) % 6;
    const int most = DeviceAttribute(device, static_cast<CUdevice_attribute>(limit));
    if (asked[i] == 0) return text->Add("%s is 0, the least is 1", kFigures[i]);
    if (most >= 0 && asked[i] > static_cast<unsigned>(most)) {
      return text->Add("%s is %u, device %d allows %d", kFigures[i], asked[i], device, most);
    }
  }
  const uint64_t threads = Volume(config.blockDimX, config.blockDimY, config.blockDimZ);
  const int registers = KernelAttribute(kernel, device, CU_FUNC_ATTRIBUTE_NUM_REGS);
  int most = KernelAttribute(kernel, device, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (most >= 0 && threads > static_cast<uint64_t>(most)) {
    return text->Add(
        "the block has %lu threads, the kernel (%d registers a thread) allows %d on device %d",
        threads, registers, most, device);
  }
  most = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
         KernelAttribute(kernel, device, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  if (most > 0 && config.sharedMemBytes > static_cast<unsigned>(most)) {
    return text->Add("dynamic_smem_bytes is %u, device %d allows this kernel %d",
                     config.sharedMemBytes, device, most);
  }
  const ClusterShape cluster = ClusterOf(config, FixedCluster(kernel, device));
  for (int i = 0; i < 3; ++i) {
    if (cluster.size[i] != 0 && asked[i] % cluster.size[i] != 0) {
      return text->Add(
          "%s is %u, wanted a multiple of cluster.%c, %u: a grid counts blocks, with clusters too",
          kFigures[i], asked[i], 'x' + i, cluster.size[i]);
    }
  }
  const auto* cooperative = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  const bool is_cooperative = cooperative != nullptr && cooperative->cooperative != 0;
  const uint64_t blocks = cluster.Blocks(), grid = Volume(asked[0], asked[1], asked[2]);
  Occupancy room;
  if ((is_cooperative || blocks != 0) && FindOccupancy(kernel, device, config, &room).ok()) {
    if (blocks > static_cast<uint64_t>(room.cluster_blocks)) {
      return text->Add("the cluster has %lu blocks, device %d allows %d of this shape", blocks,
                       device, room.cluster_blocks);
    }
    if (is_cooperative && grid > static_cast<uint64_t>(room.cooperative_blocks)) {
      return text->Add(
          "the cooperative grid has %lu blocks, device %d can hold %ld of this shape at once", grid,
          device, room.cooperative_blocks);
    }
  }
  return answer == CUDA_ERROR_NOT_SUPPORTED &&
         text->Add("programmatic launches need sm_90, and events without timing");
}

// What a thread's last refused launch went over: "launch of k: grid.y is 70000, ...".
struct LaunchProblem {
  CUresult result = CUDA_SUCCESS;  // the driver's answer; CUDA_SUCCESS: there is none
  char text[1024] = "";

  void Set(CUresult answer, const Text& what) {
    result = answer;
    snprintf(text, sizeof(text), "%s", what.chars);
  }
};
inline thread_local LaunchProblem launch_problem;

// Notes what a refused launch went over; its device is current.
TVMFFI_CUBIN_COLD Status NoteRefusal(const Status& status, CUkernel kernel, int device,
                                     const CUlaunchConfig& config) {
  Text text;
  text.Add("launch of %.100s: ", KernelName(kernel));
  const bool is_known = AddLimit(kernel, device, config, status.result, &text);
  launch_problem.Set(is_known ? status.result : CUDA_SUCCESS, text);
  return status;
}

TVMFFI_CUBIN_END
