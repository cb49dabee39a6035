/*!
 * \file cudart.c
 * \brief CUDA's runtime over the stand-in: the calls that tests' host code makes, no more.
 *
 * NVIDIA's own static runtime asks a driver for private tables and checks who answers, so that it
 * does not come up over a stand-in. Modules of tests link this library in its place
 * (TVMFFI_CUBIN_CUDART). Graphs, arrays, textures and pools are tested on a GPU alone.
 */
#include <stdlib.h>
#include <string.h>

#include "stub.h"

#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>

enum { kMost = 4096, kDeepest = 32 };

typedef struct {
  const void* code;
  CUlibrary library; /* loaded at its first use */
} Binary;

typedef struct {
  const void* host;
  const char* symbol;
  Binary* binary;
  size_t size; /* of a variable */
} Registered;

typedef struct {
  dim3 grid, block;
  size_t smem;
  cudaStream_t stream;
} Configuration;

static Registered registered[kMost];
static int num_registered;
static __thread cudaError_t last_error;
static __thread Configuration configurations[kDeepest];
static __thread int num_configurations;

static cudaError_t Noted(CUresult result) {
  if (result != CUDA_SUCCESS) last_error = (cudaError_t)result;
  return (cudaError_t)result;
}

static cudaError_t Failed(cudaError_t error) {
  last_error = error;
  return error;
}

/* Makes the first device's primary context current where a thread has none. */
static CUresult Ready(void) {
  CUcontext context = NULL;
  CUresult result = cuInit(0);
  if (result == CUDA_SUCCESS) result = cuCtxGetCurrent(&context);
  if (result != CUDA_SUCCESS || context != NULL) return result;
  result = cuDevicePrimaryCtxRetain(&context, 0);
  return result == CUDA_SUCCESS ? cuCtxSetCurrent(context) : result;
}

#define READY()                                     \
  do {                                              \
    const CUresult ready = Ready();                 \
    if (ready != CUDA_SUCCESS) return Noted(ready); \
  } while (0)

/* ---- Registration ---- */

void** __cudaRegisterFatBinary(void* wrapper) {
  Binary* binary = calloc(1, sizeof(*binary));
  memcpy(&binary->code, (char*)wrapper + 8, sizeof(void*));
  return (void**)binary;
}
void __cudaRegisterFatBinaryEnd(void** handle) { (void)handle; }
void __cudaUnregisterFatBinary(void** handle) {
  for (int i = 0; i < num_registered; ++i) {
    if (registered[i].binary == (Binary*)handle) registered[i].host = NULL;
  }
}
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name,
                            int limit, uint3* thread, uint3* block, dim3* block_dim, dim3* grid_dim,
                            int* warp) {
  (void)device, (void)limit, (void)thread, (void)block, (void)block_dim, (void)grid_dim, (void)warp;
  if (num_registered == kMost) abort();
  registered[num_registered++] = (Registered){host, name, (Binary*)handle, 0};
}
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int is_extern,
                       size_t size, int constant, int global) {
  (void)device, (void)is_extern, (void)constant, (void)global;
  if (num_registered == kMost) abort();
  registered[num_registered++] = (Registered){host, name, (Binary*)handle, size};
}

static Registered* Find(const void* host) {
  for (int i = num_registered - 1; i >= 0; --i) {
    if (host != NULL && registered[i].host == host) return &registered[i];
  }
  return NULL;
}

static CUresult Load(Binary* binary) {
  if (binary->library != NULL) return CUDA_SUCCESS;
  return cuLibraryLoadData(&binary->library, binary->code, NULL, NULL, 0, NULL, NULL, 0);
}

static CUresult FindKernel(const void* host, CUkernel* kernel) {
  Registered* found = Find(host);
  if (found == NULL || found->size != 0) return (CUresult)cudaErrorInvalidDeviceFunction;
  const CUresult result = Load(found->binary);
  return result != CUDA_SUCCESS ? result
                                : cuLibraryGetKernel(kernel, found->binary->library, found->symbol);
}

static CUresult FindVariable(const void* host, CUdeviceptr* address, size_t* size) {
  Registered* found = Find(host);
  if (found == NULL || found->size == 0) return (CUresult)cudaErrorInvalidSymbol;
  const CUresult result = Load(found->binary);
  return result != CUDA_SUCCESS
             ? result
             : cuLibraryGetGlobal(address, size, found->binary->library, found->symbol);
}

/* ---- Launches ---- */

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t smem, struct CUstream_st* s) {
  if (num_configurations == kDeepest) abort();
  configurations[num_configurations++] = (Configuration){grid, block, smem, s};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* smem, void* stream) {
  if (num_configurations == 0) return cudaErrorMissingConfiguration;
  const Configuration* last = &configurations[--num_configurations];
  *grid = last->grid, *block = last->block, *smem = last->smem;
  *(cudaStream_t*)stream = last->stream;
  return cudaSuccess;
}

static cudaError_t Launch(const void* host, CUlaunchConfig config, void** args) {
  CUkernel kernel = NULL;
  READY();
  CUresult result = FindKernel(host, &kernel);
  if (result == CUDA_SUCCESS) {
    result = cuLaunchKernelEx(&config, (CUfunction)kernel, args, NULL);
    const uint64_t threads = (uint64_t)config.blockDimX * config.blockDimY * config.blockDimZ;
    const bool is_empty = threads == 0 || config.gridDimX == 0 || config.gridDimY == 0;
    if (result == CUDA_ERROR_INVALID_VALUE && (is_empty || threads > 1024)) {
      return Failed(cudaErrorInvalidConfiguration);
    }
  }
  return Noted(result);
}

cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** args, size_t smem,
                             cudaStream_t stream) {
  CUlaunchConfig config = {grid.x,  grid.y,         grid.z, block.x, block.y,
                           block.z, (unsigned)smem, stream, NULL,    0};
  return Launch(host, config, args);
}
cudaError_t cudaLaunchCooperativeKernel(const void* host, dim3 grid, dim3 block, void** args,
                                        size_t smem, cudaStream_t stream) {
  CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
  CUlaunchConfig config = {grid.x,  grid.y,         grid.z, block.x,      block.y,
                           block.z, (unsigned)smem, stream, &cooperative, 1};
  return Launch(host, config, args);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* given, const void* host, void** args) {
  if (given == NULL) return Failed(cudaErrorInvalidValue);
  // Attributes are the driver's own, with its numbers.
  CUlaunchConfig config = {given->gridDim.x,
                           given->gridDim.y,
                           given->gridDim.z,
                           given->blockDim.x,
                           given->blockDim.y,
                           given->blockDim.z,
                           (unsigned)given->dynamicSmemBytes,
                           given->stream,
                           (CUlaunchAttribute*)given->attrs,
                           given->numAttrs};
  return Launch(host, config, args);
}

cudaError_t cudaFuncSetAttribute(const void* host, enum cudaFuncAttribute attribute, int value) {
  CUkernel kernel = NULL;
  CUdevice device = 0;
  READY();
  CUresult result = FindKernel(host, &kernel);
  if (result == CUDA_SUCCESS) result = cuCtxGetDevice(&device);
  if (result == CUDA_SUCCESS) {
    result = cuKernelSetAttribute((CUfunction_attribute)attribute, value, kernel, device);
  }
  return Noted(result);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* attributes, const void* host) {
  CUkernel kernel = NULL;
  CUdevice device = 0;
  READY();
  CUresult result = FindKernel(host, &kernel);
  if (result == CUDA_SUCCESS) result = cuCtxGetDevice(&device);
  memset(attributes, 0, sizeof(*attributes));
  int values[9] = {0};
  for (int i = 0; i < 9 && result == CUDA_SUCCESS; ++i) {
    result = cuKernelGetAttribute(&values[i], (CUfunction_attribute)i, kernel, device);
    if (i == 7 || i == 6) result = CUDA_SUCCESS;
  }
  attributes->maxThreadsPerBlock = values[0];
  attributes->sharedSizeBytes = (size_t)values[1];
  attributes->constSizeBytes = (size_t)values[2];
  attributes->localSizeBytes = (size_t)values[3];
  attributes->numRegs = values[4];
  attributes->maxDynamicSharedSizeBytes = values[8] > 0 ? values[8] : 48 * 1024 - values[1];
  return Noted(result);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host,
                                                                   int size, size_t smem,
                                                                   unsigned flags) {
  CUkernel kernel = NULL;
  (void)flags;
  READY();
  const CUresult result = FindKernel(host, &kernel);
  if (result != CUDA_SUCCESS) return Noted(result);
  return Noted(cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (CUfunction)kernel, size, smem));
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int size,
                                                          size_t smem) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, size, smem, 0);
}

/* ---- Errors ---- */

cudaError_t cudaGetLastError(void) {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError(void) { return last_error; }

/* The runtime's own, and the driver's under its name. */
const char* cudaGetErrorName(cudaError_t error) {
  const char* name = NULL;
  if (error == cudaSuccess) return "cudaSuccess";
  if (error == cudaErrorInvalidValue) return "cudaErrorInvalidValue";
  if (error == cudaErrorInvalidConfiguration) return "cudaErrorInvalidConfiguration";
  if (error == cudaErrorInvalidDeviceFunction) return "cudaErrorInvalidDeviceFunction";
  if (error == cudaErrorInvalidSymbol) return "cudaErrorInvalidSymbol";
  if (error == cudaErrorMemoryAllocation) return "cudaErrorMemoryAllocation";
  if (error == cudaErrorNoKernelImageForDevice) return "cudaErrorNoKernelImageForDevice";
  return cuGetErrorName((CUresult)error, &name) == CUDA_SUCCESS ? name : "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  const char* text = NULL;
  if (error == cudaSuccess) return "no error";
  if (error == cudaErrorInvalidConfiguration) return "invalid configuration argument";
  if (error == cudaErrorInvalidDeviceFunction) return "invalid device function";
  if (error == cudaErrorInvalidSymbol) return "invalid device symbol";
  return cuGetErrorString((CUresult)error, &text) == CUDA_SUCCESS ? text
                                                                  : "unrecognized error code";
}

/* ---- Devices and streams ---- */

cudaError_t cudaGetDeviceCount(int* count) {
  const CUresult result = cuInit(0);
  return Noted(result == CUDA_SUCCESS ? cuDeviceGetCount(count) : result);
}
cudaError_t cudaGetDevice(int* device) {
  READY();
  return Noted(cuCtxGetDevice(device));
}
cudaError_t cudaSetDevice(int device) {
  CUcontext context = NULL;
  CUresult result = cuInit(0);
  if (result == CUDA_SUCCESS) result = cuDevicePrimaryCtxRetain(&context, device);
  return Noted(result == CUDA_SUCCESS ? cuCtxSetCurrent(context) : result);
}
cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device) {
  const CUresult result = cuInit(0);
  if (result != CUDA_SUCCESS) return Noted(result);
  return Noted(cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device));
}
cudaError_t cudaDeviceSynchronize(void) {
  READY();
  return Noted(cuCtxSynchronize());
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  READY();
  return Noted(cuStreamCreate(stream, flags));
}

#define FORWARD(name, parameters, call) \
  cudaError_t name parameters {         \
    READY();                            \
    return Noted(call);                 \
  }
FORWARD(cudaStreamDestroy, (cudaStream_t s), cuStreamDestroy(s))
FORWARD(cudaStreamSynchronize, (cudaStream_t s), cuStreamSynchronize(s))
FORWARD(cudaEventCreate, (cudaEvent_t * e), cuEventCreate(e, 0))
FORWARD(cudaEventRecord, (cudaEvent_t e, cudaStream_t s), cuEventRecord(e, s))
FORWARD(cudaEventSynchronize, (cudaEvent_t e), cuEventSynchronize(e))
FORWARD(cudaEventDestroy, (cudaEvent_t e), cuEventDestroy(e))

/* ---- Memory ---- */

FORWARD(cudaMalloc, (void** at, size_t size), cuMemAlloc((CUdeviceptr*)at, size))
FORWARD(cudaFree, (void* at), at == NULL ? CUDA_SUCCESS : cuMemFree((CUdeviceptr)at))
FORWARD(cudaMemcpy, (void* to, const void* from, size_t size, enum cudaMemcpyKind kind),
        ((void)kind, cuMemcpy((CUdeviceptr)to, (CUdeviceptr)from, size)))
FORWARD(cudaMemcpyAsync,
        (void* to, const void* from, size_t size, enum cudaMemcpyKind kind, cudaStream_t s),
        ((void)kind, cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, size, s)))
FORWARD(cudaMemsetAsync, (void* at, int value, size_t size, cudaStream_t s),
        cuMemsetD8Async((CUdeviceptr)at, (unsigned char)value, size, s))

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  size_t size = 0;
  READY();
  return Noted(FindVariable(symbol, (CUdeviceptr*)address, &size));
}
cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  CUdeviceptr address = 0;
  READY();
  return Noted(FindVariable(symbol, &address, size));
}

static cudaError_t CopySymbol(const void* symbol, size_t offset, const void* from, void* to,
                              size_t size, cudaStream_t stream, bool is_async) {
  CUdeviceptr address = 0;
  size_t whole = 0;
  READY();
  const CUresult found = FindVariable(symbol, &address, &whole);
  if (found != CUDA_SUCCESS) return Noted(found);
  if (offset > whole || size > whole - offset) return Failed(cudaErrorInvalidValue);
  const CUdeviceptr source = from != NULL ? (CUdeviceptr)from : address + offset;
  const CUdeviceptr target = to != NULL ? (CUdeviceptr)to : address + offset;
  return Noted(is_async ? cuMemcpyAsync(target, source, size, stream)
                        : cuMemcpy(target, source, size));
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t size, size_t offset,
                               enum cudaMemcpyKind kind) {
  (void)kind;
  return CopySymbol(symbol, offset, from, NULL, size, NULL, false);
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t size, size_t offset,
                                 enum cudaMemcpyKind kind) {
  (void)kind;
  return CopySymbol(symbol, offset, NULL, to, size, NULL, false);
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t size,
                                    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream) {
  (void)kind;
  return CopySymbol(symbol, offset, from, NULL, size, stream, true);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t size, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream) {
  (void)kind;
  return CopySymbol(symbol, offset, NULL, to, size, stream, true);
}
#pragma GCC visibility pop
