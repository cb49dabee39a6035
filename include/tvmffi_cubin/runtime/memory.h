/*!
 * \file tvmffi_cubin/runtime/memory.h
 * \brief cudaMalloc, cudaMemcpy, cudaMemset and their kin over the driver.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_MEMORY_H_
#define TVMFFI_CUBIN_RUNTIME_MEMORY_H_

#include "device.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuMemAlloc, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemFree, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemAllocAsync, 11020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemFreeAsync, 11020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemAllocManaged, 6000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemHostAlloc, 2020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemFreeHost, 2000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemGetInfo, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemcpy, 4000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemcpyAsync, 4000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemsetD8, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemsetD8Async, 3020)

inline CUdeviceptr DeviceAddress(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

inline CUdeviceptr* DeviceAddressOut(void** pointer) {
  return reinterpret_cast<CUdeviceptr*>(pointer);
}

/*! \brief An allocation; none at all, and no error, for no bytes. */
template <typename Entry, typename... Arguments>
cudaError_t Allocate(Entry& call, void** pointer, size_t bytes, Arguments... arguments) {
  cudaError_t error;
  if (IsNull(&error, pointer)) return error;
  *pointer = nullptr;
  if (bytes == 0) return NoteRuntimeError(EnsureContext());
  return CallInContext(call, DeviceAddressOut(pointer), bytes, arguments...);
}

/*! \brief What is checked before a copy: the direction, and whether there is anything to do. */
inline bool CopyIsSettled(size_t bytes, enum cudaMemcpyKind kind, cudaError_t* error) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    *error = last_runtime_error = cudaErrorInvalidMemcpyDirection;
    return true;
  }
  *error = cudaSuccess;
  return bytes == 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaMalloc(void** pointer, size_t bytes) {
  return tvmffi_cubin::Allocate(tvmffi_cubin::entry::cuMemAlloc, pointer, bytes);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return tvmffi_cubin::Allocate(tvmffi_cubin::entry::cuMemAllocAsync, pointer, bytes, stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  // Of managed memory none at all is an error.
  if (bytes == 0) return tvmffi_cubin::NoteError(cudaErrorInvalidValue);
  return tvmffi_cubin::Allocate(tvmffi_cubin::entry::cuMemAllocManaged, pointer, bytes, flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemHostAlloc, pointer, bytes, flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaMallocHost(void** pointer, size_t bytes) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemHostAlloc, pointer, bytes, 0u);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaFree(void* pointer) {
  if (pointer == nullptr) return tvmffi_cubin::NoteRuntimeError(tvmffi_cubin::EnsureContext());
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemFree,
                                     tvmffi_cubin::DeviceAddress(pointer));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemFreeAsync,
                                     tvmffi_cubin::DeviceAddress(pointer), stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaFreeHost(void* pointer) {
  if (pointer == nullptr) return tvmffi_cubin::NoteRuntimeError(tvmffi_cubin::EnsureContext());
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemFreeHost, pointer);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaMemGetInfo(size_t* available, size_t* total) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemGetInfo, available, total);
}

// One address space: the driver sees from the pointers which way a copy goes.
TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpy(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind) {
  cudaError_t error;
  if (tvmffi_cubin::CopyIsSettled(bytes, kind, &error)) return error;
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemcpy, tvmffi_cubin::DeviceAddress(to),
                                     tvmffi_cubin::DeviceAddress(from), bytes);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpyAsync(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind,
                cudaStream_t stream) {
  cudaError_t error;
  if (tvmffi_cubin::CopyIsSettled(bytes, kind, &error)) return error;
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemcpyAsync,
                                     tvmffi_cubin::DeviceAddress(to),
                                     tvmffi_cubin::DeviceAddress(from), bytes, stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaMemset(void* pointer, int value, size_t bytes) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemsetD8,
                                     tvmffi_cubin::DeviceAddress(pointer),
                                     static_cast<unsigned char>(value), bytes);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemsetD8Async,
                                     tvmffi_cubin::DeviceAddress(pointer),
                                     static_cast<unsigned char>(value), bytes, stream);
}

#endif  // TVMFFI_CUBIN_RUNTIME_MEMORY_H_
