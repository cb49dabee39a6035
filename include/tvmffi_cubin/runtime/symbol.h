/*!
 * \file tvmffi_cubin/runtime/symbol.h
 * \brief cudaMemcpyToSymbol and its kin: device variables, by the host variables that stand for
 * them.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_SYMBOL_H_
#define TVMFFI_CUBIN_RUNTIME_SYMBOL_H_

#include "device.h"
#include "memory.h"
#include "variable_address.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryGetGlobal, 12000)

/*! \brief Finds a variable on the current device. What is none is an invalid symbol. */
inline cudaError_t FindSymbol(const void* symbol, CUdeviceptr* address, size_t* bytes) {
  const VariableAddress* found = variable_addresses;
  while (found != nullptr && found->shadow != symbol) found = found->next;
  if (found == nullptr) return NoteError(cudaErrorInvalidSymbol);
  CUresult result = EnsureContext();
  if (result == CUDA_SUCCESS) result = found->find(*found, address, bytes);
  return NoteRuntimeError(result);
}

/*! \brief Finds the part of a variable that is copied. */
inline cudaError_t FindPart(const void* symbol, size_t bytes, size_t offset, CUdeviceptr* address) {
  size_t size = 0;
  const cudaError_t error = FindSymbol(symbol, address, &size);
  if (error != cudaSuccess) return error;
  if (offset > size || bytes > size - offset) return NoteRuntimeError(CUDA_ERROR_INVALID_VALUE);
  *address += offset;
  return cudaSuccess;
}

/*! \brief Whether a copy may have a direction; the driver sees from the pointers which it is. */
inline bool MayCopy(enum cudaMemcpyKind kind, enum cudaMemcpyKind from_or_to_host) {
  return kind == from_or_to_host || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

inline cudaError_t RefuseDirection() { return NoteError(cudaErrorInvalidMemcpyDirection); }

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaGetSymbolAddress(void** pointer, const void* symbol) {
  CUdeviceptr address = 0;
  size_t size = 0;
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, pointer)) return error;
  error = tvmffi_cubin::FindSymbol(symbol, &address, &size);
  if (error == cudaSuccess) *pointer = reinterpret_cast<void*>(address);
  return error;
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaGetSymbolSize(size_t* size, const void* symbol) {
  CUdeviceptr address = 0;
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, size)) return error;
  return tvmffi_cubin::FindSymbol(symbol, &address, size);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                   enum cudaMemcpyKind kind) {
  if (!tvmffi_cubin::MayCopy(kind, cudaMemcpyHostToDevice)) return tvmffi_cubin::RefuseDirection();
  CUdeviceptr to = 0;
  const cudaError_t error = tvmffi_cubin::FindPart(symbol, bytes, offset, &to);
  if (error != cudaSuccess) return error;
  return cudaMemcpy(reinterpret_cast<void*>(to), from, bytes, kind);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                        enum cudaMemcpyKind kind, cudaStream_t stream) {
  if (!tvmffi_cubin::MayCopy(kind, cudaMemcpyHostToDevice)) return tvmffi_cubin::RefuseDirection();
  CUdeviceptr to = 0;
  const cudaError_t error = tvmffi_cubin::FindPart(symbol, bytes, offset, &to);
  if (error != cudaSuccess) return error;
  return cudaMemcpyAsync(reinterpret_cast<void*>(to), from, bytes, kind, stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                     enum cudaMemcpyKind kind) {
  if (!tvmffi_cubin::MayCopy(kind, cudaMemcpyDeviceToHost)) return tvmffi_cubin::RefuseDirection();
  CUdeviceptr from = 0;
  const cudaError_t error = tvmffi_cubin::FindPart(symbol, bytes, offset, &from);
  if (error != cudaSuccess) return error;
  return cudaMemcpy(to, reinterpret_cast<void*>(from), bytes, kind);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                          enum cudaMemcpyKind kind, cudaStream_t stream) {
  if (!tvmffi_cubin::MayCopy(kind, cudaMemcpyDeviceToHost)) return tvmffi_cubin::RefuseDirection();
  CUdeviceptr from = 0;
  const cudaError_t error = tvmffi_cubin::FindPart(symbol, bytes, offset, &from);
  if (error != cudaSuccess) return error;
  return cudaMemcpyAsync(to, reinterpret_cast<void*>(from), bytes, kind, stream);
}

#endif  // TVMFFI_CUBIN_RUNTIME_SYMBOL_H_
