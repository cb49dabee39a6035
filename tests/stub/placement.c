/*!
 * \file placement.c
 * \brief Pinned and pitched memory, fills of rows, peers, limits and pools.
 */
#include <stdio.h>
#include <string.h>

#include "stub.h"

static size_t limits[CU_LIMIT_MAX];
static cuuint64_t pool_attributes[16];

CUresult CUDAAPI cuMemHostRegister(void* pointer, size_t size, unsigned int flags) {
  STUB_ENTER(STUB_INITIALIZED, "'size':%zu,'flags':%u", size, flags);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  STUB_REQUIRE(pointer != NULL && size > 0, CUDA_ERROR_INVALID_VALUE);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemHostUnregister(void* pointer) {
  STUB_ENTER(STUB_INITIALIZED);
  return StubLeave(pointer != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr* found, void* pointer, unsigned int flags) {
  STUB_ENTER(STUB_INITIALIZED, "'flags':%u", flags);
  *found = (CUdeviceptr)pointer;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAllocPitch(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                                 unsigned int element) {
  *pitch = (width + 511) / 512 * 512;
  return element == 4 ? cuMemAlloc(pointer, *pitch * height) : CUDA_ERROR_INVALID_VALUE;
}

static void FillRows(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                     size_t height) {
  for (size_t row = 0; row < height; ++row) memset((char*)to + row * pitch, value, width);
}

CUresult CUDAAPI cuMemsetD2D8(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                              size_t height) {
  STUB_ENTER(STUB_INITIALIZED, "'width':%zu,'height':%zu", width, height);
  STUB_REQUIRE(width <= pitch, CUDA_ERROR_INVALID_VALUE);
  FillRows(to, pitch, value, width, height);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                                   size_t height, CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED, "'width':%zu,'height':%zu,'stream':%zu", width, height,
             (size_t)handle);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  FillRows(to, pitch, value, width, height);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  STUB_ENTER(STUB_INITIALIZED, "'device':%d,'peer':%d", device, peer);
  *can = device != peer;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  STUB_ENTER(STUB_INITIALIZED, "'flags':%u", flags);
  STUB_REQUIRE(StubFindContext(peer) != NULL, CUDA_ERROR_INVALID_CONTEXT);
  STUB_REQUIRE(peer != StubCurrentContext(), CUDA_ERROR_INVALID_DEVICE);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer) {
  STUB_ENTER(STUB_INITIALIZED);
  return StubLeave(StubFindContext(peer) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED, "'device':%d", device);
  snprintf(id, (size_t)length, "0000:%02x:00.0", device);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
  STUB_ENTER(STUB_INITIALIZED, "'device':%d,'flags':%u", device, flags);
  return StubLeave(flags & CU_CTX_MAP_HOST ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value) {
  STUB_ENTER(STUB_INITIALIZED, "'limit':%d,'value':%zu", (int)limit, value);
  limits[limit] = value;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetLimit(size_t* value, CUlimit limit) {
  STUB_ENTER(STUB_INITIALIZED, "'limit':%d", (int)limit);
  *value = limits[limit];
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  STUB_ENTER(STUB_INITIALIZED, "'device':%d", device);
  *pool = (CUmemoryPool)pool_attributes;  // a token
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  STUB_ENTER(STUB_INITIALIZED, "'attribute':%d", (int)which);
  STUB_REQUIRE((void*)pool == pool_attributes, CUDA_ERROR_INVALID_VALUE);
  pool_attributes[which] = *(cuuint64_t*)value;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  STUB_ENTER(STUB_INITIALIZED, "'attribute':%d", (int)which);
  STUB_REQUIRE((void*)pool == pool_attributes, CUDA_ERROR_INVALID_VALUE);
  *(cuuint64_t*)value = pool_attributes[which];
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t size, CUmemoryPool pool,
                                         CUstream stream) {
  if ((void*)pool != pool_attributes) return CUDA_ERROR_INVALID_VALUE;
  return cuMemAllocAsync(pointer, size, stream);
}

CUresult CUDAAPI cuProfilerStart(void) {
  STUB_ENTER(STUB_INITIALIZED);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuProfilerStop(void) {
  STUB_ENTER(STUB_INITIALIZED);
  return StubLeave(CUDA_SUCCESS);
}
