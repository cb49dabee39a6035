/*!
 * \file memory.c
 * \brief Device memory, which is the host's: allocations, what a pointer is, copies and fills.
 */
#include <stdlib.h>
#include <string.h>

#include "stub.h"

static StubRange* FindRange(CUdeviceptr pointer) {
  for (StubRange* range = stub.ranges; range != NULL; range = range->next) {
    if (pointer >= range->start && pointer < range->start + range->size) return range;
  }
  return NULL;
}

static void AddRange(uintptr_t start, size_t size, int type, int device, bool owned) {
  StubRange* made = malloc(sizeof(*made));
  if (made == NULL) abort();
  *made = (StubRange){start, size, type, device, owned, stub.ranges};
  stub.ranges = made;
}

static CUresult RemoveRange(uintptr_t start) {
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

void* StubAllocateMemory(size_t size, int device) {
  void* memory = aligned_alloc(256, (size + 255) / 256 * 256);
  if (memory == NULL) abort();
  AddRange((uintptr_t)memory, size, CU_MEMORYTYPE_DEVICE, device, true);
  return memory;
}

void StubFreeMemory(void* memory) { RemoveRange((uintptr_t)memory); }

static CUresult Allocate(void** memory, size_t size, int type) {
  StubContext* context = NULL;
  CUresult result = StubActiveContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (memory == NULL || size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (StubCaptureForbids()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  *memory = aligned_alloc(256, (size + 255) / 256 * 256);
  if (*memory == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  AddRange((uintptr_t)*memory, size, type, context->device, true);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr* pointer, size_t size) {
  STUB_ENTER(STUB_INITIALIZED, "'size':%zu", size);
  return StubLeave(Allocate((void**)pointer, size, CU_MEMORYTYPE_DEVICE));
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr* pointer, size_t size, CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED, "'size':%zu,'stream':%zu", size, (size_t)handle);
  STUB_REQUIRE(pointer != NULL && size > 0, CUDA_ERROR_INVALID_VALUE);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  void* memory = aligned_alloc(256, (size + 255) / 256 * 256);
  STUB_REQUIRE(memory != NULL, CUDA_ERROR_OUT_OF_MEMORY);
  AddRange((uintptr_t)memory, size, CU_MEMORYTYPE_DEVICE, context->device, true);
  *pointer = (CUdeviceptr)memory;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemFree(CUdeviceptr pointer) {
  STUB_ENTER(STUB_INITIALIZED, "'pointer':%llu", pointer);
  return StubLeave(pointer == 0 ? CUDA_SUCCESS : RemoveRange(pointer));
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr pointer, CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED, "'pointer':%llu,'stream':%zu", pointer, (size_t)handle);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  return StubLeave(RemoveRange(pointer));
}

CUresult CUDAAPI cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                                       CUdeviceptr pointer) {
  STUB_ENTER(STUB_INITIALIZED, "'attribute':%d,'pointer':%llu", (int)attribute, pointer);
  const StubRange* range = FindRange(pointer);
  STUB_REQUIRE(data != NULL && range != NULL, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUDA_ERROR_NOT_SUPPORTED);
  *(unsigned int*)data = (unsigned int)range->type;
  return StubLeave(CUDA_SUCCESS);
}

/*! \brief Makes the driver know memory that a test made: numpy's, say, as a device's. */
STUB_EXPORT void stub_register_memory(void* start, size_t size, int type, int device) {
  pthread_mutex_lock(&stub.mutex);
  AddRange((uintptr_t)start, size, type, device, false);
  pthread_mutex_unlock(&stub.mutex);
}

STUB_EXPORT void stub_unregister_memory(void* start) {
  pthread_mutex_lock(&stub.mutex);
  RemoveRange((uintptr_t)start);
  pthread_mutex_unlock(&stub.mutex);
}
