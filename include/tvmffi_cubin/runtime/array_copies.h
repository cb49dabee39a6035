/*!
 * \file tvmffi_cubin/runtime/array_copies.h
 * \brief cudaMemcpy3D and the copies to and from CUDA arrays.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_ARRAY_COPIES_H_
#define TVMFFI_CUBIN_RUNTIME_ARRAY_COPIES_H_

#include "arrays.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuMemcpy3D, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemcpy3DAsync, 3020)

/*! \brief The bytes of an array's element; of memory, whose elements are bytes, 1. */
inline CUresult ElementBytes(cudaArray_const_t array, size_t* bytes) {
  *bytes = 1;
  if (array == nullptr) return CUDA_SUCCESS;
  CUDA_ARRAY3D_DESCRIPTOR found{};
  const CUresult result = DescribeArray(array, &found);
  if (result != CUDA_SUCCESS) return result;
  *bytes = static_cast<size_t>(ChannelBytes(found.Format)) * found.NumChannels;
  return *bytes == 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

/*! \brief Where the direction of a copy says that its memory is; of an array it says nothing. */
constexpr CUmemorytype MemoryType(enum cudaMemcpyKind kind, bool is_source) {
  if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
  const bool is_host = kind == cudaMemcpyHostToHost ||
                       kind == (is_source ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost);
  return is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

inline void SetSource(CUDA_MEMCPY3D* copy, cudaArray_const_t array, const void* memory,
                      enum cudaMemcpyKind kind) {
  copy->srcMemoryType = array != nullptr ? CU_MEMORYTYPE_ARRAY : MemoryType(kind, true);
  copy->srcArray = DriverArray(array);
  copy->srcHost = memory;
  copy->srcDevice = DeviceAddress(memory);
}

inline void SetTarget(CUDA_MEMCPY3D* copy, cudaArray_const_t array, const void* memory,
                      enum cudaMemcpyKind kind) {
  copy->dstMemoryType = array != nullptr ? CU_MEMORYTYPE_ARRAY : MemoryType(kind, false);
  copy->dstArray = DriverArray(array);
  copy->dstHost = const_cast<void*>(memory);
  copy->dstDevice = DeviceAddress(memory);
}

/*! \brief The driver's form of a copy: its widths are bytes, the runtime's are an array's elements.
 */
inline CUresult DriverCopy(const struct cudaMemcpy3DParms& copy, CUDA_MEMCPY3D* found) {
  if ((copy.srcArray == nullptr) == (copy.srcPtr.ptr == nullptr) ||
      (copy.dstArray == nullptr) == (copy.dstPtr.ptr == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (copy.kind < cudaMemcpyHostToHost || copy.kind > cudaMemcpyDefault) {
    return static_cast<CUresult>(cudaErrorInvalidMemcpyDirection);
  }
  size_t from = 1, to = 1;
  CUresult result = ElementBytes(copy.srcArray, &from);
  if (result == CUDA_SUCCESS) result = ElementBytes(copy.dstArray, &to);
  if (result != CUDA_SUCCESS) return result;
  if (copy.srcArray != nullptr && copy.dstArray != nullptr && from != to) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *found = {};
  found->srcXInBytes = copy.srcPos.x * from;
  found->srcY = copy.srcPos.y;
  found->srcZ = copy.srcPos.z;
  SetSource(found, copy.srcArray, copy.srcPtr.ptr, copy.kind);
  found->srcPitch = copy.srcPtr.pitch;
  found->srcHeight = copy.srcPtr.ysize;
  found->dstXInBytes = copy.dstPos.x * to;
  found->dstY = copy.dstPos.y;
  found->dstZ = copy.dstPos.z;
  SetTarget(found, copy.dstArray, copy.dstPtr.ptr, copy.kind);
  found->dstPitch = copy.dstPtr.pitch;
  found->dstHeight = copy.dstPtr.ysize;
  found->WidthInBytes = copy.extent.width * (copy.srcArray != nullptr ? from : to);
  found->Height = copy.extent.height;
  found->Depth = copy.extent.depth;
  return CUDA_SUCCESS;
}

/*! \brief Copies a box, on a stream where the entry point takes one. */
template <typename Entry, typename... Stream>
cudaError_t CopyBox(Entry& call, const struct cudaMemcpy3DParms* copy, Stream... stream) {
  cudaError_t error;
  if (IsNull(&error, copy)) return error;
  const size_t size = copy->extent.width * copy->extent.height * copy->extent.depth;
  if (CopyIsSettled(size, copy->kind, &error)) return error;
  CUDA_MEMCPY3D converted;
  const CUresult result = DriverCopy(*copy, &converted);
  if (result != CUDA_SUCCESS) return NoteRuntimeError(result);
  return CallInContext(call, static_cast<const CUDA_MEMCPY3D*>(&converted), stream...);
}

/*! \brief Copies rows between memory and an array, where the place in a row is in bytes. */
template <typename Entry, typename... Stream>
cudaError_t CopyArrayRows(Entry& call, cudaArray_const_t array, size_t x, size_t y,
                          const void* memory, size_t pitch, size_t width, size_t height,
                          enum cudaMemcpyKind kind, bool is_to_array, Stream... stream) {
  cudaError_t error;
  if (CopyIsSettled(width * height, kind, &error)) return error;
  if (width > pitch) return NoteError(cudaErrorInvalidPitchValue);
  if (array == nullptr) return NoteError(cudaErrorInvalidResourceHandle);
  CUDA_MEMCPY3D copy{};
  SetSource(&copy, is_to_array ? nullptr : array, is_to_array ? memory : nullptr, kind);
  SetTarget(&copy, is_to_array ? array : nullptr, is_to_array ? nullptr : memory, kind);
  copy.srcPitch = copy.dstPitch = pitch;
  copy.srcHeight = copy.dstHeight = height;
  (is_to_array ? copy.dstXInBytes : copy.srcXInBytes) = x;
  (is_to_array ? copy.dstY : copy.srcY) = y;
  copy.WidthInBytes = width;
  copy.Height = height;
  copy.Depth = 1;
  return CallInContext(call, static_cast<const CUDA_MEMCPY3D*>(&copy), stream...);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaMemcpy3D(const struct cudaMemcpy3DParms* copy) {
  return tvmffi_cubin::CopyBox(tvmffi_cubin::entry::cuMemcpy3D, copy);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpy3DAsync(const struct cudaMemcpy3DParms* copy, cudaStream_t stream) {
  return tvmffi_cubin::CopyBox(tvmffi_cubin::entry::cuMemcpy3DAsync, copy, stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                    size_t width, size_t height, enum cudaMemcpyKind kind) {
  return tvmffi_cubin::CopyArrayRows(tvmffi_cubin::entry::cuMemcpy3D, to, x, y, from, pitch, width,
                                     height, kind, true);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind,
                         cudaStream_t stream) {
  return tvmffi_cubin::CopyArrayRows(tvmffi_cubin::entry::cuMemcpy3DAsync, to, x, y, from, pitch,
                                     width, height, kind, true, stream);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                      size_t width, size_t height, enum cudaMemcpyKind kind) {
  return tvmffi_cubin::CopyArrayRows(tvmffi_cubin::entry::cuMemcpy3D, from, x, y, to, pitch, width,
                                     height, kind, false);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                           size_t width, size_t height, enum cudaMemcpyKind kind,
                           cudaStream_t stream) {
  return tvmffi_cubin::CopyArrayRows(tvmffi_cubin::entry::cuMemcpy3DAsync, from, x, y, to, pitch,
                                     width, height, kind, false, stream);
}

#endif  // TVMFFI_CUBIN_RUNTIME_ARRAY_COPIES_H_
