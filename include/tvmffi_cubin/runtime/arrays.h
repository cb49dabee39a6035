/*!
 * \file tvmffi_cubin/runtime/arrays.h
 * \brief CUDA arrays and the formats of their elements, over the driver.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_ARRAYS_H_
#define TVMFFI_CUBIN_RUNTIME_ARRAYS_H_

#include "memory.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuArray3DCreate, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuArray3DGetDescriptor, 3020)
TVMFFI_CUBIN_DRIVER_ENTRY(cuArrayDestroy, 2000)

inline CUarray DriverArray(cudaArray_const_t array) {
  return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}

/*! \brief The bytes of a channel; 0 for the formats that are not told by kind and bits. */
constexpr unsigned int ChannelBytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

/*! \brief The driver's form of a channel's format, and how many there are; false for others. */
inline bool FindFormat(const struct cudaChannelFormatDesc& channels, CUarray_format* format,
                       unsigned int* count) {
  constexpr CUarray_format kFormats[3][3] = {
      {CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_SIGNED_INT32},
      {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT32},
      {CUarray_format{}, CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT}};
  const int bits[] = {channels.x, channels.y, channels.z, channels.w};
  const int size = bits[0] == 8 ? 0 : bits[0] == 16 ? 1 : bits[0] == 32 ? 2 : -1;
  const int kind = channels.f;
  if (size < 0 || kind < 0 || kind > 2 || (kind == 2 && size == 0)) return false;
  *count = 1;
  while (*count < 4 && bits[*count] != 0) {
    if (bits[*count] != bits[0]) return false;
    ++*count;
  }
  for (unsigned int i = *count; i < 4; ++i) {
    if (bits[i] != 0) return false;
  }
  *format = kFormats[kind][size];
  return *count != 3;
}

inline cudaError_t AllocateArray(cudaArray_t* array, const struct cudaChannelFormatDesc* channels,
                                 struct cudaExtent extent, unsigned int flags) {
  CUDA_ARRAY3D_DESCRIPTOR wanted{};
  cudaError_t error;
  if (IsNull(&error, array, channels)) return error;
  if (!FindFormat(*channels, &wanted.Format, &wanted.NumChannels)) {
    return NoteError(cudaErrorInvalidChannelDescriptor);
  }
  wanted.Width = extent.width;
  wanted.Height = extent.height;
  wanted.Depth = extent.depth;
  wanted.Flags = flags;
  return CallInContext(entry::cuArray3DCreate, reinterpret_cast<CUarray*>(array), &wanted);
}

inline CUresult DescribeArray(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR* found) {
  const CUresult result = EnsureContext();
  return result == CUDA_SUCCESS ? entry::cuArray3DGetDescriptor(found, DriverArray(array)) : result;
}

inline struct cudaChannelFormatDesc ChannelsOf(const CUDA_ARRAY3D_DESCRIPTOR& array) {
  const int bits = static_cast<int>(ChannelBytes(array.Format)) * 8;
  const int count = static_cast<int>(array.NumChannels);
  const bool is_float = array.Format == CU_AD_FORMAT_FLOAT || array.Format == CU_AD_FORMAT_HALF;
  const bool is_signed = !is_float && array.Format >= CU_AD_FORMAT_SIGNED_INT8;
  return {bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0,
          is_float    ? cudaChannelFormatKindFloat
          : is_signed ? cudaChannelFormatKindSigned
                      : cudaChannelFormatKindUnsigned};
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(struct cudaChannelFormatDesc)
cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMallocArray(cudaArray_t* array, const struct cudaChannelFormatDesc* channels, size_t width,
                size_t height, unsigned int flags) {
  return tvmffi_cubin::AllocateArray(array, channels, {width, height, 0}, flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaMalloc3DArray(cudaArray_t* array, const struct cudaChannelFormatDesc* channels,
                  struct cudaExtent extent, unsigned int flags) {
  return tvmffi_cubin::AllocateArray(array, channels, extent, flags);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaFreeArray(cudaArray_t array) {
  if (array == nullptr) return tvmffi_cubin::NoteRuntimeError(tvmffi_cubin::EnsureContext());
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuArrayDestroy,
                                     tvmffi_cubin::DriverArray(array));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaGetChannelDesc(struct cudaChannelFormatDesc* channels, cudaArray_const_t array) {
  CUDA_ARRAY3D_DESCRIPTOR found{};
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, channels)) return error;
  const CUresult result = tvmffi_cubin::DescribeArray(array, &found);
  if (result == CUDA_SUCCESS) *channels = tvmffi_cubin::ChannelsOf(found);
  return tvmffi_cubin::NoteRuntimeError(result);
}

#endif  // TVMFFI_CUBIN_RUNTIME_ARRAYS_H_
