/*!
 * \file launch_check.c
 * \brief The driver's checks of a launch: dimensions, shared memory, clusters, attributes.
 *
 * Each answer is what driver 580 gave on an H200, except that of a cluster on a device without
 * clusters, which could not be tried.
 */
#include "launch_check.h"

enum {
  kPortableCluster = 8,
  kLargestCluster = 16,
  kLastAttribute = CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
};

static CUresult CheckShape(const CUlaunchConfig* config, const Target* target) {
  const unsigned int sizes[6] = {config->blockDimX, config->blockDimY, config->blockDimZ,
                                 config->gridDimX,  config->gridDimY,  config->gridDimZ};
  for (int i = 0; i < 6; ++i) {
    // The six limits are numbered in this order, from MAX_BLOCK_DIM_X on.
    CUdevice_attribute limit = (CUdevice_attribute)(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i);
    if (sizes[i] == 0) return CUDA_ERROR_INVALID_VALUE;
    if (sizes[i] > (unsigned)StubAttribute(target->device, limit)) return CUDA_ERROR_INVALID_VALUE;
  }
  uint64_t threads = (uint64_t)sizes[0] * sizes[1] * sizes[2];
  int most = StubAttribute(target->device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  bool allowed = threads <= (uint64_t)most && threads <= (uint64_t)target->info->max_threads;
  return allowed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult CheckCluster(const CUlaunchConfig* config, const Target* target,
                             const unsigned int* asked) {
  const int* fixed = target->info->cluster;
  unsigned int cluster[3];
  const unsigned int grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
  for (int i = 0; i < 3; ++i) {
    if (asked != NULL && fixed[0] > 0 && asked[i] != (unsigned int)fixed[i]) {
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    cluster[i] = asked != NULL ? asked[i] : (unsigned int)fixed[i];
    if (cluster[i] == 0 || grid[i] % cluster[i] != 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  uint64_t blocks = (uint64_t)cluster[0] * cluster[1] * cluster[2];
  uint64_t most = target->settings->non_portable_cluster ? kLargestCluster : kPortableCluster;
  if (!StubAttribute(target->device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)) most = 1;
  return blocks <= most ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

static CUresult CheckCooperative(const CUlaunchConfig* config, const Target* target) {
  int threads = (int)(config->blockDimX * config->blockDimY * config->blockDimZ);
  int resident = StubOccupancy(target->info, target->device, threads, config->sharedMemBytes) *
                 StubAttribute(target->device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  uint64_t blocks = (uint64_t)config->gridDimX * config->gridDimY * config->gridDimZ;
  if (!StubAttribute(target->device, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return blocks <= (uint64_t)resident ? CUDA_SUCCESS : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

static CUresult CheckAttribute(const CUlaunchConfig* config, const Target* target,
                               const CUlaunchAttribute* attribute) {
  const CUlaunchAttributeValue* value = &attribute->value;
  switch ((int)attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      return value->cooperative ? CheckCooperative(config, target) : CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      return CheckCluster(config, target, &value->clusterDim.x);
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      return CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
      return value->programmaticEvent.event != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
      return CUDA_ERROR_NOT_SUPPORTED;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return value->sharedMemCarveout <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default:
      return (unsigned)attribute->id <= kLastAttribute ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult StubCheckLaunch(const CUlaunchConfig* config, const Target* target) {
  CUresult result = CheckShape(config, target);
  bool clustered = false;
  if (result != CUDA_SUCCESS) return result;
  int limit = StubDynamicLimit(target->info, target->settings, target->device);
  if (config->sharedMemBytes > (unsigned int)limit) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    clustered |= config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    result = CheckAttribute(config, target, &config->attrs[i]);
    if (result != CUDA_SUCCESS) return result;
  }
  if (clustered || target->info->cluster[0] == 0) return CUDA_SUCCESS;
  return CheckCluster(config, target, NULL);
}
