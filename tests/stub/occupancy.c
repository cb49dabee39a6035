/*!
 * \file occupancy.c
 * \brief How many blocks, and how many clusters of them, a device holds at once.
 */
#include "stub.h"

/* Multiprocessors that share a cluster: a GPC's, of which there are a few more or fewer in truth.
 */
enum { kGpcMultiprocessors = 16 };

static int Least(int a, int b) { return a < b ? a : b; }

int StubOccupancy(const StubKernelInfo* info, const StubSettings* settings, int device, int threads,
                  size_t dynamic_smem) {
  if (threads > info->max_threads) return 0;
  if (dynamic_smem > (size_t)StubDynamicLimit(info, settings, device)) return 0;
  int reserved = StubAttribute(device, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  size_t smem = dynamic_smem + (size_t)info->static_smem + (size_t)reserved;
  int warps = (threads + 31) / 32;
  int registers = (info->registers + 7) / 8 * 8 * 32 * warps;  // given out by eights, by the warp
  int blocks = StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  int most = StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  blocks = Least(blocks, most / (32 * warps));
  most = StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  if (registers > 0) blocks = Least(blocks, most / registers);
  most = StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  if (smem > 0) blocks = Least(blocks, (int)((size_t)most / smem));
  return blocks;
}

int StubActiveClusters(const StubKernelInfo* info, const StubSettings* settings, int device,
                       int threads, size_t dynamic_smem, uint64_t cluster) {
  if (cluster == 0 || cluster > (uint64_t)StubLargestCluster(settings, device)) return 0;
  uint64_t per_sm = (uint64_t)StubOccupancy(info, settings, device, threads, dynamic_smem);
  uint64_t rest = (uint64_t)StubAttribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  uint64_t clusters = rest / kGpcMultiprocessors * (kGpcMultiprocessors * per_sm / cluster);
  return (int)(clusters + rest % kGpcMultiprocessors * per_sm / cluster);
}

int StubLargestCluster(const StubSettings* settings, int device) {
  if (!StubAttribute(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)) return 1;
  return settings->non_portable_cluster > 0 ? 16 : 8;
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle,
                                                             int threads, size_t dynamic_smem) {
  STUB_ENTER(STUB_INITIALIZED, "'function':%zu,'threads':%d,'dynamic_smem_bytes':%zu",
             (size_t)handle, threads, dynamic_smem);
  STUB_REQUIRE(blocks != NULL, CUDA_ERROR_INVALID_VALUE);
  StubKernel* kernel = StubFindKernel(handle);
  STUB_REQUIRE(kernel != NULL, CUDA_ERROR_INVALID_HANDLE);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  int device = context->device;
  const StubKernelInfo* info = NULL;
  STUB_TRY(StubKernelOn(kernel, device, &info, NULL));
  *blocks = 0;
  STUB_REQUIRE(threads > 0, CUDA_ERROR_INVALID_VALUE);
  *blocks = StubOccupancy(info, &kernel->settings[device], device, threads, dynamic_smem);
  return StubLeave(CUDA_SUCCESS);
}

/* What both functions of clusters need: the kernel where the configuration's stream has it. */
typedef struct {
  int device, threads;
  const StubKernelInfo* info;
  const StubSettings* settings;
} Shape;

static CUresult FindShape(const CUlaunchConfig* config, CUfunction handle, Shape* shape) {
  StubStream* stream = NULL;
  StubContext* context = NULL;
  StubKernel* kernel = StubFindKernel(handle);
  if (config == NULL || handle == NULL) return CUDA_ERROR_INVALID_VALUE;
  if (kernel == NULL) return CUDA_ERROR_INVALID_HANDLE;
  CUresult result = StubStreamContext(config->hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  shape->device = context->device;
  shape->threads = (int)(config->blockDimX * config->blockDimY * config->blockDimZ);
  shape->settings = &kernel->settings[context->device];
  if (shape->threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (config->gridDimX == 0 || config->gridDimY == 0 || config->gridDimZ == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!StubAttribute(context->device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return StubKernelOn(kernel, context->device, &shape->info, NULL);
}

CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int* size, CUfunction handle,
                                                    const CUlaunchConfig* config) {
  STUB_ENTER(STUB_INITIALIZED, "'function':%zu", (size_t)handle);
  STUB_REQUIRE(size != NULL, CUDA_ERROR_INVALID_VALUE);
  Shape shape;
  STUB_TRY(FindShape(config, handle, &shape));
  // A cluster that the kernel fixes is no answer, but it must be allowed.
  const int* fixed = shape.info->cluster;
  const int largest = StubLargestCluster(shape.settings, shape.device);
  STUB_REQUIRE(fixed[0] * fixed[1] * fixed[2] <= largest, CUDA_ERROR_INVALID_CLUSTER_SIZE);
  *size = largest;
  while (*size > 0 && StubActiveClusters(shape.info, shape.settings, shape.device, shape.threads,
                                         config->sharedMemBytes, (uint64_t)*size) == 0) {
    *size /= 2;
  }
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int* count, CUfunction handle,
                                              const CUlaunchConfig* config) {
  STUB_ENTER(STUB_INITIALIZED, "'function':%zu", (size_t)handle);
  STUB_REQUIRE(count != NULL, CUDA_ERROR_INVALID_VALUE);
  Shape shape;
  STUB_TRY(FindShape(config, handle, &shape));
  uint64_t blocks = 0;
  STUB_TRY(StubClusterOf(config, shape.info, &blocks));
  // Where all that the device has is allowed, none of the larger ones is active.
  bool allowed = shape.settings->non_portable_cluster > 0 ||
                 blocks <= (uint64_t)StubLargestCluster(shape.settings, shape.device);
  STUB_REQUIRE(allowed, CUDA_ERROR_INVALID_CLUSTER_SIZE);
  *count = StubActiveClusters(shape.info, shape.settings, shape.device, shape.threads,
                              config->sharedMemBytes, blocks);
  return StubLeave(CUDA_SUCCESS);
}
