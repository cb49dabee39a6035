/*!
 * \file dlpack.c
 * \brief Memory that a test presents as a device's, and DLPack tensors over it.
 *
 * In C, not by ctypes callbacks: a tensor may be freed by a thread without the GIL, or after the
 * interpreter's end.
 */
#include <dlpack/dlpack.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

STUB_EXPORT void stub_register_memory(void* start, size_t size, int type, int device);
STUB_EXPORT void stub_unregister_memory(void* start);

typedef struct {
  atomic_int references;
  DLDevice device;
  void* data;
} StubBuffer;

typedef struct {
  DLManagedTensor managed;
  StubBuffer* buffer;
  int64_t shape_and_strides[];
} StubTensor;

static int MemoryType(int device_type) {
  if (device_type == kDLCUDA || device_type == kDLCUDAManaged) return CU_MEMORYTYPE_DEVICE;
  return device_type == kDLCUDAHost ? CU_MEMORYTYPE_HOST : 0;
}

/*! \brief Zeroed memory, 256-byte aligned, with one reference, that the driver knows. */
STUB_EXPORT StubBuffer* stub_buffer_create(size_t size, int device_type, int device) {
  StubBuffer* made = malloc(sizeof(*made));
  size_t rounded = (size + 256) / 256 * 256;
  if (made == NULL || (made->data = aligned_alloc(256, rounded)) == NULL) abort();
  memset(made->data, 0, rounded);
  atomic_init(&made->references, 1);
  made->device = (DLDevice){(DLDeviceType)device_type, device};
  int type = MemoryType(device_type);
  if (type != 0) stub_register_memory(made->data, size > 0 ? size : 1, type, device);
  return made;
}

STUB_EXPORT void* stub_buffer_data(const StubBuffer* buffer) { return buffer->data; }

STUB_EXPORT void stub_buffer_release(StubBuffer* buffer) {
  if (atomic_fetch_sub(&buffer->references, 1) != 1) return;
  stub_unregister_memory(buffer->data);
  free(buffer->data);
  free(buffer);
}

static void DeleteTensor(DLManagedTensor* managed) {
  StubTensor* tensor = managed->manager_ctx;
  stub_buffer_release(tensor->buffer);
  free(tensor);
}

/*! \brief A tensor over a buffer, of which it keeps a reference; `strides` may be null. */
STUB_EXPORT DLManagedTensor* stub_dlpack(StubBuffer* buffer, void* data, uint64_t byte_offset,
                                         const uint16_t dtype[3], int ndim, const int64_t* shape,
                                         const int64_t* strides) {
  StubTensor* made = malloc(sizeof(*made) + 2 * (size_t)ndim * sizeof(int64_t));
  if (made == NULL) abort();
  int64_t* lengths = made->shape_and_strides;
  size_t bytes = (size_t)ndim * sizeof(int64_t);
  if (ndim > 0) memcpy(lengths, shape, bytes);
  if (ndim > 0 && strides != NULL) memcpy(lengths + ndim, strides, bytes);
  atomic_fetch_add(&buffer->references, 1);
  made->buffer = buffer;
  made->managed =
      (DLManagedTensor){.dl_tensor = {.data = data,
                                      .device = buffer->device,
                                      .ndim = ndim,
                                      .dtype = {(uint8_t)dtype[0], (uint8_t)dtype[1], dtype[2]},
                                      .shape = lengths,
                                      .strides = strides != NULL ? lengths + ndim : NULL,
                                      .byte_offset = byte_offset},
                        .manager_ctx = made,
                        .deleter = DeleteTensor};
  return &made->managed;
}
