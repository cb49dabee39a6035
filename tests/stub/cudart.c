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

/* Makes the first device's primary context current where a thread has none. */
static CUresult Ready(void) {
  CUcontext context = NULL;
  CUresult result = cuInit(0);
  if (result == CUDA_SUCCESS) result = cuCtxGetCurrent(&context);
  if (result != CUDA_SUCCESS || context != NULL) return result;
  result = cuDevicePrimaryCtxRetain(&context, 0);
  return result == CUDA_SUCCESS ? cuCtxSetCurrent(context) : result;
}

/* A function that is one call of the driver's. */
#define FORWARD(name, parameters, call)                   \
  cudaError_t name parameters {                           \
    const CUresult ready = Ready();                       \
    return Noted(ready != CUDA_SUCCESS ? ready : (call)); \
  }

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
static void Register(const void* host, const char* symbol, void** handle) {
  if (num_registered == kMost) abort();
  registered[num_registered++] = (Registered){host, symbol, (Binary*)handle};
}
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name,
                            int limit, uint3* thread, uint3* block, dim3* block_dim, dim3* grid_dim,
                            int* warp) {
  (void)device, (void)limit, (void)thread, (void)block, (void)block_dim, (void)grid_dim, (void)warp;
  Register(host, name, handle);
}
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int is_extern,
                       size_t size, int constant, int global) {
  (void)device, (void)is_extern, (void)size, (void)constant, (void)global;
  Register(host, name, handle);
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

/* A kernel, and the device that is current, which every thread has from here on. */
static CUresult FindKernel(const void* host, CUkernel* kernel, CUdevice* device) {
  Registered* found = Find(host);
  CUresult result = Ready();
  if (found == NULL) return (CUresult)cudaErrorInvalidDeviceFunction;
  if (result == CUDA_SUCCESS) result = cuCtxGetDevice(device);
  if (result == CUDA_SUCCESS) result = Load(found->binary);
  if (result != CUDA_SUCCESS) return result;
  return cuLibraryGetKernel(kernel, found->binary->library, found->symbol);
}

static CUresult FindVariable(const void* host, CUdeviceptr* address, size_t* size) {
  Registered* found = Find(host);
  CUresult result = Ready();
  if (found == NULL) return (CUresult)cudaErrorInvalidSymbol;
  if (result == CUDA_SUCCESS) result = Load(found->binary);
  if (result != CUDA_SUCCESS) return result;
  return cuLibraryGetGlobal(address, size, found->binary->library, found->symbol);
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

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* given, const void* host, void** args) {
  const dim3 grid = given->gridDim, block = given->blockDim;
  // Attributes are the driver's own, with its numbers.
  const CUlaunchConfig config = {grid.x,
                                 grid.y,
                                 grid.z,
                                 block.x,
                                 block.y,
                                 block.z,
                                 (unsigned)given->dynamicSmemBytes,
                                 given->stream,
                                 (CUlaunchAttribute*)given->attrs,
                                 given->numAttrs};
  CUkernel kernel = NULL;
  CUdevice device = 0;
  CUresult result = FindKernel(host, &kernel, &device);
  if (result == CUDA_SUCCESS) {
    result = cuLaunchKernelEx(&config, (CUfunction)kernel, args, NULL);
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    const bool is_empty = threads == 0 || grid.x == 0 || grid.y == 0;
    if (result == CUDA_ERROR_INVALID_VALUE && (is_empty || threads > 1024)) {
      result = (CUresult)cudaErrorInvalidConfiguration;
    }
  }
  return Noted(result);
}

cudaError_t cudaFuncSetAttribute(const void* host, enum cudaFuncAttribute attribute, int value) {
  CUkernel kernel = NULL;
  CUdevice device = 0;
  CUresult result = FindKernel(host, &kernel, &device);
  if (result == CUDA_SUCCESS) {
    result = cuKernelSetAttribute((CUfunction_attribute)attribute, value, kernel, device);
  }
  return Noted(result);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* attributes, const void* host) {
  CUkernel kernel = NULL;
  CUdevice device = 0;
  int smem = 0;
  memset(attributes, 0, sizeof(*attributes));
  const CUresult result = FindKernel(host, &kernel, &device);
  if (result != CUDA_SUCCESS) return Noted(result);
  cuKernelGetAttribute(&attributes->maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                       kernel, device);
  cuKernelGetAttribute(&smem, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, device);
  cuKernelGetAttribute(&attributes->maxDynamicSharedSizeBytes,
                       CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, device);
  attributes->sharedSizeBytes = (size_t)smem;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host,
                                                                   int size, size_t smem,
                                                                   unsigned flags) {
  CUkernel kernel = NULL;
  CUdevice device = 0;
  (void)flags;
  const CUresult result = FindKernel(host, &kernel, &device);
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
  if (error == cudaErrorNoKernelImageForDevice) return "cudaErrorNoKernelImageForDevice";
  return cuGetErrorName((CUresult)error, &name) == CUDA_SUCCESS ? name : "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  const char* text = NULL;
  if (error == cudaErrorInvalidConfiguration) return "invalid configuration argument";
  if (error == cudaErrorInvalidDeviceFunction) return "invalid device function";
  return cuGetErrorString((CUresult)error, &text) == CUDA_SUCCESS ? text
                                                                  : "unrecognized error code";
}

/* ---- Devices and streams ---- */

cudaError_t cudaSetDevice(int device) {
  CUcontext context = NULL;
  CUresult result = cuInit(0);
  if (result == CUDA_SUCCESS) result = cuDevicePrimaryCtxRetain(&context, device);
  return Noted(result == CUDA_SUCCESS ? cuCtxSetCurrent(context) : result);
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

FORWARD(cudaGetDeviceCount, (int* count), cuDeviceGetCount(count))
FORWARD(cudaGetDevice, (int* device), cuCtxGetDevice(device))
FORWARD(cudaDeviceGetAttribute, (int* value, enum cudaDeviceAttr attribute, int device),
        cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device))
FORWARD(cudaDeviceSynchronize, (void), cuCtxSynchronize())
FORWARD(cudaStreamSynchronize, (cudaStream_t s), cuStreamSynchronize(s))

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
  return Noted(FindVariable(symbol, (CUdeviceptr*)address, &size));
}
cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  CUdeviceptr address = 0;
  return Noted(FindVariable(symbol, &address, size));
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t size,
                                    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream) {
  char* address = NULL;
  const cudaError_t error = cudaGetSymbolAddress((void**)&address, symbol);
  return error != cudaSuccess ? error : cudaMemcpyAsync(address + offset, from, size, kind, stream);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t size, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream) {
  char* address = NULL;
  const cudaError_t error = cudaGetSymbolAddress((void**)&address, symbol);
  return error != cudaSuccess ? error : cudaMemcpyAsync(to, address + offset, size, kind, stream);
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t size, size_t offset,
                               enum cudaMemcpyKind kind) {
  return cudaMemcpyToSymbolAsync(symbol, from, size, offset, kind, NULL);
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t size, size_t offset,
                                 enum cudaMemcpyKind kind) {
  return cudaMemcpyFromSymbolAsync(to, symbol, size, offset, kind, NULL);
}
#pragma GCC visibility pop
