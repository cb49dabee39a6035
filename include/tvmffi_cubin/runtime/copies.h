/*!
 * \file tvmffi_cubin/runtime/copies.h
 * \brief cudaMemcpy2D, cudaMemcpyPeer and what pointers are, over the driver.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_COPIES_H_
#define TVMFFI_CUBIN_RUNTIME_COPIES_H_

#include "memory.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuMemcpy2DUnaligned, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemcpy2DAsync, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemcpyPeer, 4000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemcpyPeerAsync, 4000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuPointerGetAttributes, 7000)

/*! \brief A copy of rows, in the one address space. */
inline CUDA_MEMCPY2D RowsCopy(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = DeviceAddress(from);
  copy.srcPitch = from_pitch;
  copy.dstDevice = DeviceAddress(to);
  copy.dstPitch = to_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

/*! \brief What is checked before rows are copied, as CopyIsSettled. */
inline bool RowsAreSettled(size_t to_pitch, size_t from_pitch, size_t width, size_t height,
                           enum cudaMemcpyKind kind, cudaError_t* error) {
  if (CopyIsSettled(width * height, kind, error)) return true;
  if (width <= to_pitch && width <= from_pitch) return false;
  *error = last_runtime_error = cudaErrorInvalidPitchValue;
  return true;
}

/*! \brief The primary contexts of two devices, between which is copied. */
inline CUresult FindPeers(int to_device, int from_device, CUcontext* to, CUcontext* from) {
  CUresult result = EnsureContext();
  if (result != CUDA_SUCCESS) return result;
  result = PrimaryContext(to_device, to).result;
  return result != CUDA_SUCCESS ? result : PrimaryContext(from_device, from).result;
}

/*! \brief Fills in what a pointer is; what CUDA does not know is the host's, and no failure. */
inline CUresult ReadPointer(struct cudaPointerAttributes* attributes, const void* pointer) {
  unsigned int type = 0;
  int device = cudaInvalidDeviceId, managed = 0;
  CUdeviceptr on_device = 0;
  void* on_host = nullptr;
  CUpointer_attribute asked[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
      CU_POINTER_ATTRIBUTE_HOST_POINTER};
  void* found[] = {&type, &device, &managed, &on_device, &on_host};
  const CUresult result = entry::cuPointerGetAttributes(5, asked, found, DeviceAddress(pointer));
  if (result != CUDA_SUCCESS) return result;
  *attributes = {};
  attributes->device = type == 0 ? static_cast<int>(cudaInvalidDeviceId) : device;
  attributes->type = type == 0                    ? cudaMemoryTypeUnregistered
                     : managed != 0               ? cudaMemoryTypeManaged
                     : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
                                                  : cudaMemoryTypeDevice;
  attributes->devicePointer = reinterpret_cast<void*>(on_device);
  attributes->hostPointer = type == 0 ? const_cast<void*>(pointer) : on_host;
  return CUDA_SUCCESS;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
             size_t height, enum cudaMemcpyKind kind) {
  cudaError_t error;
  if (tvmffi_cubin::RowsAreSettled(to_pitch, from_pitch, width, height, kind, &error)) return error;
  const CUDA_MEMCPY2D copy = tvmffi_cubin::RowsCopy(to, to_pitch, from, from_pitch, width, height);
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemcpy2DUnaligned, &copy);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                  size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  cudaError_t error;
  if (tvmffi_cubin::RowsAreSettled(to_pitch, from_pitch, width, height, kind, &error)) return error;
  const CUDA_MEMCPY2D copy = tvmffi_cubin::RowsCopy(to, to_pitch, from, from_pitch, width, height);
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuMemcpy2DAsync, &copy, stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                    cudaStream_t stream) {
  CUcontext target = nullptr, source = nullptr;
  const CUresult result = tvmffi_cubin::FindPeers(to_device, from_device, &target, &source);
  if (result != CUDA_SUCCESS || bytes == 0) return tvmffi_cubin::NoteRuntimeError(result);
  return tvmffi_cubin::NoteRuntimeError(tvmffi_cubin::entry::cuMemcpyPeerAsync(
      tvmffi_cubin::DeviceAddress(to), target, tvmffi_cubin::DeviceAddress(from), source, bytes,
      stream));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  CUcontext target = nullptr, source = nullptr;
  const CUresult result = tvmffi_cubin::FindPeers(to_device, from_device, &target, &source);
  if (result != CUDA_SUCCESS || bytes == 0) return tvmffi_cubin::NoteRuntimeError(result);
  return tvmffi_cubin::NoteRuntimeError(tvmffi_cubin::entry::cuMemcpyPeer(
      tvmffi_cubin::DeviceAddress(to), target, tvmffi_cubin::DeviceAddress(from), source, bytes));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* pointer) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, attributes)) return error;
  const CUresult result = tvmffi_cubin::EnsureContext();
  return tvmffi_cubin::NoteRuntimeError(
      result == CUDA_SUCCESS ? tvmffi_cubin::ReadPointer(attributes, pointer) : result);
}

#endif  // TVMFFI_CUBIN_RUNTIME_COPIES_H_
