/*!
 * \file launch_check.c
 * \brief The driver's checks of a launch: dimensions, shared memory, clusters, events.
 *
 * Each answer is what driver 580 gave on an H200, except those of a cluster on a device without
 * clusters, which could not be tried.
 */
#include "stub.h"

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

static const unsigned int* FindCluster(const CUlaunchConfig* config) {
  const unsigned int* found = NULL;
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    found = &config->attrs[i].value.clusterDim.x;
  }
  return found;
}

CUresult StubClusterOf(const CUlaunchConfig* config, const StubKernelInfo* info, uint64_t* blocks) {
  const unsigned int* asked = FindCluster(config);
  const unsigned int grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
  *blocks = 0;
  if (asked == NULL && info->cluster[0] == 0) return CUDA_SUCCESS;
  *blocks = 1;
  for (int i = 0; i < 3; ++i) {
    unsigned int fixed = (unsigned int)info->cluster[i];
    unsigned int size = asked != NULL ? asked[i] : fixed;
    bool allowed = fixed == 0 || size == fixed;
    if (!allowed || size == 0 || grid[i] % size != 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    *blocks *= size;
  }
  return CUDA_SUCCESS;
}

static CUresult CheckCooperative(const CUlaunchConfig* config, const Target* target) {
  int threads = (int)(config->blockDimX * config->blockDimY * config->blockDimZ);
  uint64_t blocks = (uint64_t)config->gridDimX * config->gridDimY * config->gridDimZ;
  if (!StubAttribute(target->device, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  uint64_t cluster = 0;
  CUresult result = StubClusterOf(config, target->info, &cluster);
  if (result != CUDA_SUCCESS) return result;
  if (cluster == 0) cluster = 1;
  uint64_t resident =
      cluster * (uint64_t)StubActiveClusters(target->info, target->settings, target->device,
                                             threads, config->sharedMemBytes, cluster);
  return blocks <= resident ? CUDA_SUCCESS : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

/* What is no event of this library's is taken for one: tests make addresses up. */
static CUresult CheckEvent(CUevent handle) {
  if (handle == NULL) return CUDA_ERROR_INVALID_HANDLE;
  const StubEvent* event = StubFindEvent(handle);
  return event != NULL && event->timed ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static CUresult CheckAttribute(const CUlaunchConfig* config, const Target* target,
                               const CUlaunchAttribute* attribute) {
  const CUlaunchAttributeValue* value = &attribute->value;
  switch ((int)attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      return value->cooperative ? CheckCooperative(config, target) : CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
      return CheckEvent(value->programmaticEvent.event);
    default:
      return CUDA_SUCCESS;
  }
}

CUresult StubCheckLaunch(const CUlaunchConfig* config, const Target* target) {
  CUresult result = CheckShape(config, target);
  if (result != CUDA_SUCCESS) return result;
  int limit = StubDynamicLimit(target->info, target->settings, target->device);
  if (config->sharedMemBytes > (unsigned int)limit) return CUDA_ERROR_INVALID_VALUE;
  uint64_t cluster = 0;
  result = StubClusterOf(config, target->info, &cluster);
  if (result != CUDA_SUCCESS) return result;
  if (cluster > (uint64_t)StubLargestCluster(target->settings, target->device)) {
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    result = CheckAttribute(config, target, &config->attrs[i]);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}
