/*!
 * \file tvmffi_cubin/runtime/placement.h
 * \brief Pinned, pitched and managed memory, and rows of bytes, over the driver.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_PLACEMENT_H_
#define TVMFFI_CUBIN_RUNTIME_PLACEMENT_H_

#include "memory.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuMemHostRegister, 6050)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemHostUnregister, 4000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemHostGetDevicePointer, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemHostGetFlags, 2030)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemAllocPitch, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemsetD2D8, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemsetD2D8Async, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuStreamAttachMemAsync, 6000)
#if CUDART_VERSION < 13000
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemAdvise, 8000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemPrefetchAsync, 8000)
#else
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemAdvise, 12020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemPrefetchAsync, 12020)

inline CUmemLocation DriverLocation(struct cudaMemLocation location) {
  CUmemLocation found{};
  found.type = static_cast<CUmemLocationType>(static_cast<int>(location.type));
  found.id = location.id;
  return found;
}
#endif

// Of an element: a row's alignment is far above it.
constexpr unsigned int kPitchedBytes = 4;

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemHostRegister, pointer, bytes, flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaHostUnregister(void* pointer) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemHostUnregister, pointer);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaHostGetDevicePointer(void** on_device, void* on_host, unsigned int flags) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemHostGetDevicePointer,
                                     tvmffi_cubin::DeviceAddressOut(on_device), on_host, flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaHostGetFlags(unsigned int* flags, void* pointer) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemHostGetFlags, flags, pointer);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, pointer, pitch)) return error;
  *pointer = nullptr;
  *pitch = 0;
  if (width == 0 || height == 0) {
    return tvmffi_cubin::NoteRuntimeError(tvmffi_cubin::EnsureContext());
  }
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemAllocPitch,
                                     tvmffi_cubin::DeviceAddressOut(pointer), pitch, width, height,
                                     tvmffi_cubin::kPitchedBytes);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMalloc3D(struct cudaPitchedPtr* memory, struct cudaExtent extent) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, memory)) return error;
  *memory = {nullptr, 0, extent.width, extent.height};
  return cudaMallocPitch(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemsetD2D8,
                                     tvmffi_cubin::DeviceAddress(pointer), pitch,
                                     static_cast<unsigned char>(value), width, height);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                  cudaStream_t stream) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemsetD2D8Async,
                                     tvmffi_cubin::DeviceAddress(pointer), pitch,
                                     static_cast<unsigned char>(value), width, height, stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes, unsigned int flags) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuStreamAttachMemAsync, stream,
                                     tvmffi_cubin::DeviceAddress(pointer), bytes, flags);
}

#if CUDART_VERSION < 13000
TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemAdvise(const void* pointer, size_t bytes, enum cudaMemoryAdvise advice, int device) {
  const auto converted = static_cast<CUmem_advise>(static_cast<int>(advice));
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemAdvise,
                                     tvmffi_cubin::DeviceAddress(pointer), bytes, converted,
                                     device);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device, cudaStream_t stream) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemPrefetchAsync,
                                     tvmffi_cubin::DeviceAddress(pointer), bytes, device, stream);
}
#else
TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemAdvise(const void* pointer, size_t bytes, enum cudaMemoryAdvise advice,
              struct cudaMemLocation location) {
  const auto converted = static_cast<CUmem_advise>(static_cast<int>(advice));
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemAdvise,
                                     tvmffi_cubin::DeviceAddress(pointer), bytes, converted,
                                     tvmffi_cubin::DriverLocation(location));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemPrefetchAsync(const void* pointer, size_t bytes, struct cudaMemLocation location,
                     unsigned int flags, cudaStream_t stream) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemPrefetchAsync,
                                     tvmffi_cubin::DeviceAddress(pointer), bytes,
                                     tvmffi_cubin::DriverLocation(location), flags, stream);
}
#endif

#endif  // TVMFFI_CUBIN_RUNTIME_PLACEMENT_H_
