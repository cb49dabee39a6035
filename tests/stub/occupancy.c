/*!
 * \file occupancy.c
 * \brief How many blocks, and how many clusters of them, a device holds at once.
 */
#include "stub.h"

/* Multiprocessors that share a cluster: a GPC's, which has a few more or fewer in truth. And how
 * many blocks of clusters, those of one block too, an H200's multiprocessor holds. */
enum { kGpcMultiprocessors = 16, kMostInClusters = 8 };

static int Least(int a, int b) { return a < b ? a : b; }

int StubOccupancy(const StubTarget* target, int threads, size_t dynamic_smem) {
  int device = target->device;
  if (threads > target->info->max_threads) return 0;
  if (dynamic_smem > (size_t)StubDynamicLimit(target)) return 0;
  int smem = (int)dynamic_smem + target->info->static_smem +
             StubAttribute(device, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  int warps = (threads + 31) / 32;
  // Given out by eights, by the warp.
  int registers = (target->info->registers + 7) / 8 * 8 * 32 * warps;
  int blocks = StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  int most = StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  blocks = Least(blocks, most / (32 * warps));
  most = StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  if (registers > 0) blocks = Least(blocks, most / registers);
  most = StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  return Least(blocks, most / smem);
}

static int Threads(const CUlaunchConfig* config) {
  return (int)(config->blockDimX * config->blockDimY * config->blockDimZ);
}

int StubActiveClusters(const StubTarget* target, const CUlaunchConfig* config, uint64_t cluster) {
  if (cluster == 0 || cluster > (uint64_t)StubLargestCluster(target)) return 0;
  int held = StubOccupancy(target, Threads(config), config->sharedMemBytes);
  uint64_t per_sm = (uint64_t)Least(held, kMostInClusters);
  uint64_t rest = (uint64_t)StubAttribute(target->device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  uint64_t clusters = rest / kGpcMultiprocessors * (kGpcMultiprocessors * per_sm / cluster);
  return (int)(clusters + rest % kGpcMultiprocessors * per_sm / cluster);
}

int StubLargestCluster(const StubTarget* target) {
  if (!StubAttribute(target->device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)) return 1;
  return target->settings->non_portable_cluster ? 16 : 8;
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction kernel,
                                                             int threads, size_t dynamic_smem) {
  STUB_ENTER(STUB_INITIALIZED);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  StubTarget target;
  STUB_TRY(StubKernelOn(kernel, context->device, &target));
  STUB_REQUIRE(threads > 0, CUDA_ERROR_INVALID_VALUE);
  *blocks = StubOccupancy(&target, threads, dynamic_smem);
  return StubLeave(CUDA_SUCCESS);
}

/* What both functions of clusters need: the kernel where the configuration's stream has it. */
static CUresult FindTarget(const CUlaunchConfig* config, CUfunction kernel, StubTarget* target) {
  StubStream* stream = NULL;
  StubContext* context = NULL;
  CUresult result = StubStreamContext(config->hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  bool is_empty = config->gridDimX == 0 || config->gridDimY == 0 || config->gridDimZ == 0;
  if (is_empty || Threads(config) <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (!StubAttribute(context->device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return StubKernelOn(kernel, context->device, target);
}

CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int* size, CUfunction kernel,
                                                    const CUlaunchConfig* config) {
  STUB_ENTER(STUB_INITIALIZED);
  StubTarget target;
  STUB_TRY(FindTarget(config, kernel, &target));
  // A cluster that the kernel fixes is no answer, but it must be allowed.
  const int* fixed = target.info->cluster;
  *size = StubLargestCluster(&target);
  STUB_REQUIRE(fixed[0] * fixed[1] * fixed[2] <= *size, CUDA_ERROR_INVALID_CLUSTER_SIZE);
  while (*size > 0 && StubActiveClusters(&target, config, (uint64_t)*size) == 0) *size /= 2;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int* count, CUfunction kernel,
                                              const CUlaunchConfig* config) {
  STUB_ENTER(STUB_INITIALIZED);
  StubTarget target;
  STUB_TRY(FindTarget(config, kernel, &target));
  uint64_t blocks = 0;
  STUB_TRY(StubClusterOf(config, target.info, &blocks));
  // Where all that the device has is allowed, none of the larger ones is active.
  bool allowed =
      target.settings->non_portable_cluster || blocks <= (uint64_t)StubLargestCluster(&target);
  STUB_REQUIRE(allowed, CUDA_ERROR_INVALID_CLUSTER_SIZE);
  *count = StubActiveClusters(&target, config, blocks);
  return StubLeave(CUDA_SUCCESS);
}
