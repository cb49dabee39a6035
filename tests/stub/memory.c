/*!
 * \file memory.c
 * \brief Device memory, which is the host's: allocations, what a pointer is, copies and fills, each
 * done at once.
 */
#include <stdlib.h>
#include <string.h>

#include "stub.h"

static void AddRange(uintptr_t start, size_t size, int type, bool owned) {
  StubRange* made = malloc(sizeof(*made));
  *made = (StubRange){start, size, type, owned, stub.ranges};
  stub.ranges = made;
}

CUresult StubFreeMemory(uintptr_t start) {
  for (StubRange** at = &stub.ranges; *at != NULL; at = &(*at)->next) {
    StubRange* range = *at;
    if (range->start != start) continue;
    *at = range->next;
    if (range->owned) free((void*)range->start);
    free(range);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

void* StubAllocateMemory(size_t size) {
  void* memory = aligned_alloc(256, (size + 255) / 256 * 256);
  AddRange((uintptr_t)memory, size, CU_MEMORYTYPE_DEVICE, true);
  return memory;
}

/*! \brief Makes the driver know memory that a test made, as a device's, say. */
STUB_EXPORT void stub_register_memory(void* start, size_t size, int type) {
  pthread_mutex_lock(&stub.mutex);
  AddRange((uintptr_t)start, size, type, false);
  pthread_mutex_unlock(&stub.mutex);
}

STUB_EXPORT void stub_unregister_memory(void* start) {
  pthread_mutex_lock(&stub.mutex);
  StubFreeMemory((uintptr_t)start);
  pthread_mutex_unlock(&stub.mutex);
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr* pointer, size_t size) {
  STUB_ENTER(STUB_INITIALIZED);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  STUB_REQUIRE(size > 0, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(!StubCaptureForbids(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  *pointer = (CUdeviceptr)StubAllocateMemory(size);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr* pointer, size_t size, CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED);
  StubLog("'size':%zu,'stream':%zu,", size, (size_t)handle);
  STUB_REQUIRE(size > 0, CUDA_ERROR_INVALID_VALUE);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  *pointer = (CUdeviceptr)StubAllocateMemory(size);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemFree(CUdeviceptr pointer) {
  STUB_ENTER(STUB_INITIALIZED);
  return StubLeave(StubFreeMemory(pointer));
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr pointer, CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED);
  StubLog("'pointer':%llu,'stream':%zu,", pointer, (size_t)handle);
  return StubLeave(StubFreeMemory(pointer));
}

CUresult CUDAAPI cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                                       CUdeviceptr pointer) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUDA_ERROR_NOT_SUPPORTED);
  const StubRange* range = stub.ranges;
  while (range != NULL && pointer - range->start >= range->size) range = range->next;
  STUB_REQUIRE(range != NULL, CUDA_ERROR_INVALID_VALUE);
  *(unsigned int*)data = (unsigned int)range->type;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
  STUB_ENTER(STUB_INITIALIZED);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  memmove((void*)to, (const void*)from, size);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  memmove((void*)to, (const void*)from, size);
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t size,
                                 CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  memset((void*)to, value, size);
  return StubLeave(CUDA_SUCCESS);
}
