/*!
 * \file launch_check.c
 * \brief The driver's checks of a launch: dimensions, shared memory, clusters, events.
 *
 * Each answer is what driver 580 gave on an H200, except those of a cluster on a device without
 * clusters, which could not be tried.
 */
#include "stub.h"

static bool ShapeFits(const CUlaunchConfig* config, const StubTarget* target) {
  const unsigned int sizes[6] = {config->blockDimX, config->blockDimY, config->blockDimZ,
                                 config->gridDimX,  config->gridDimY,  config->gridDimZ};
  for (int i = 0; i < 6; ++i) {
    // The six limits are numbered in this order, from MAX_BLOCK_DIM_X on.
    CUdevice_attribute limit = (CUdevice_attribute)(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i);
    if (sizes[i] == 0 || sizes[i] > (unsigned)StubAttribute(target->device, limit)) return false;
  }
  int most = StubAttribute(target->device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (target->info->max_threads < most) most = target->info->max_threads;
  return (uint64_t)sizes[0] * sizes[1] * sizes[2] <= (uint64_t)most;
}

CUresult StubClusterOf(const CUlaunchConfig* config, const StubKernelInfo* info, uint64_t* blocks) {
  const unsigned int* asked = NULL;
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      asked = &config->attrs[i].value.clusterDim.x;
    }
  }
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

/* Of a cooperative launch all blocks must be resident at once. */
static CUresult CheckCooperative(const CUlaunchConfig* config, const StubTarget* target,
                                 uint64_t cluster) {
  uint64_t blocks = (uint64_t)config->gridDimX * config->gridDimY * config->gridDimZ;
  if (!StubAttribute(target->device, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  int threads = (int)(config->blockDimX * config->blockDimY * config->blockDimZ);
  int sms = StubAttribute(target->device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  uint64_t resident = cluster * (uint64_t)StubActiveClusters(target, config, cluster);
  if (cluster == 0)
    resident = (uint64_t)(StubOccupancy(target, threads, config->sharedMemBytes) * sms);
  return blocks <= resident ? CUDA_SUCCESS : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

/* What is no event of this library's is taken for one: tests make addresses up. */
static CUresult CheckEvent(CUevent handle) {
  if (handle == NULL) return CUDA_ERROR_INVALID_HANDLE;
  const StubEvent* event = stub.events;
  while (event != NULL && event != handle) event = event->next;
  return event != NULL && event->timed ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult StubCheckLaunch(const CUlaunchConfig* config, const StubTarget* target) {
  bool fits =
      ShapeFits(config, target) && config->sharedMemBytes <= (unsigned int)StubDynamicLimit(target);
  if (!fits) return CUDA_ERROR_INVALID_VALUE;
  uint64_t cluster = 0;
  CUresult result = StubClusterOf(config, target->info, &cluster);
  if (result == CUDA_SUCCESS && cluster > (uint64_t)StubLargestCluster(target)) {
    result = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  for (unsigned int i = 0; i < config->numAttrs && result == CUDA_SUCCESS; ++i) {
    const CUlaunchAttributeValue* value = &config->attrs[i].value;
    switch ((int)config->attrs[i].id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        if (value->cooperative) result = CheckCooperative(config, target, cluster);
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        result = CheckEvent(value->programmaticEvent.event);
    }
  }
  return result;
}
