/*!
 * \file tvmffi_cubin/runtime/textures.h
 * \brief Texture and surface objects over the driver.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_TEXTURES_H_
#define TVMFFI_CUBIN_RUNTIME_TEXTURES_H_

#include "arrays.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuMipmappedArrayGetLevel, 5000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuTexObjectCreate, 5000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuTexObjectDestroy, 5000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuSurfObjectCreate, 5000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuSurfObjectDestroy, 5000)

/*! \brief The driver's form of what a texture or surface is read from, and its format. */
inline CUresult DriverResource(const struct cudaResourceDesc& resource, CUDA_RESOURCE_DESC* found,
                               CUarray_format* format) {
  CUDA_ARRAY3D_DESCRIPTOR array{};
  unsigned int channels = 0;
  CUresult result = EnsureContext();
  if (result != CUDA_SUCCESS) return result;
  *found = {};
  found->resType = static_cast<CUresourcetype>(static_cast<int>(resource.resType));
#if CUDART_VERSION >= 13000
  found->flags = resource.flags;
#endif
  switch (resource.resType) {
    case cudaResourceTypeArray:
      found->res.array.hArray = DriverArray(resource.res.array.array);
      result = entry::cuArray3DGetDescriptor(&array, found->res.array.hArray);
      *format = array.Format;
      return result;
    case cudaResourceTypeMipmappedArray: {
      auto levels = reinterpret_cast<CUmipmappedArray>(resource.res.mipmap.mipmap);
      CUarray first = nullptr;
      found->res.mipmap.hMipmappedArray = levels;
      result = entry::cuMipmappedArrayGetLevel(&first, levels, 0u);
      if (result == CUDA_SUCCESS) result = entry::cuArray3DGetDescriptor(&array, first);
      *format = array.Format;
      return result;
    }
    case cudaResourceTypeLinear:
      if (!FindFormat(resource.res.linear.desc, format, &channels)) break;
      found->res.linear.devPtr = DeviceAddress(resource.res.linear.devPtr);
      found->res.linear.format = *format;
      found->res.linear.numChannels = channels;
      found->res.linear.sizeInBytes = resource.res.linear.sizeInBytes;
      return CUDA_SUCCESS;
    case cudaResourceTypePitch2D:
      if (!FindFormat(resource.res.pitch2D.desc, format, &channels)) break;
      found->res.pitch2D.devPtr = DeviceAddress(resource.res.pitch2D.devPtr);
      found->res.pitch2D.format = *format;
      found->res.pitch2D.numChannels = channels;
      found->res.pitch2D.width = resource.res.pitch2D.width;
      found->res.pitch2D.height = resource.res.pitch2D.height;
      found->res.pitch2D.pitchInBytes = resource.res.pitch2D.pitchInBytes;
      return CUDA_SUCCESS;
    default:
      break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

/*!
 * \brief The driver's form of an address mode. The runtime clamps coordinates that are not
 * normalized where they would repeat.
 */
constexpr CUaddress_mode DriverAddressMode(enum cudaTextureAddressMode mode, bool is_normalized) {
  const bool repeats = mode == cudaAddressModeWrap || mode == cudaAddressModeMirror;
  return repeats && !is_normalized ? CU_TR_ADDRESS_MODE_CLAMP
                                   : static_cast<CUaddress_mode>(static_cast<int>(mode));
}

inline CUDA_TEXTURE_DESC DriverTexture(const struct cudaTextureDesc& texture,
                                       CUarray_format format) {
  const bool is_integer = format != CU_AD_FORMAT_FLOAT && format != CU_AD_FORMAT_HALF;
  CUDA_TEXTURE_DESC found{};
  for (int i = 0; i < 3; ++i) {
    found.addressMode[i] = DriverAddressMode(texture.addressMode[i], texture.normalizedCoords != 0);
  }
  for (int i = 0; i < 4; ++i) found.borderColor[i] = texture.borderColor[i];
  found.filterMode = static_cast<CUfilter_mode>(static_cast<int>(texture.filterMode));
  found.mipmapFilterMode = static_cast<CUfilter_mode>(static_cast<int>(texture.mipmapFilterMode));
  found.maxAnisotropy = texture.maxAnisotropy;
  found.mipmapLevelBias = texture.mipmapLevelBias;
  found.minMipmapLevelClamp = texture.minMipmapLevelClamp;
  found.maxMipmapLevelClamp = texture.maxMipmapLevelClamp;
  if (texture.readMode == cudaReadModeElementType && is_integer) {
    found.flags |= CU_TRSF_READ_AS_INTEGER;
  }
  if (texture.normalizedCoords) found.flags |= CU_TRSF_NORMALIZED_COORDINATES;
  if (texture.sRGB) found.flags |= CU_TRSF_SRGB;
  if (texture.disableTrilinearOptimization) {
    found.flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
  }
  if (texture.seamlessCubemap) found.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
  return found;
}

inline CUDA_RESOURCE_VIEW_DESC DriverView(const struct cudaResourceViewDesc& view) {
  CUDA_RESOURCE_VIEW_DESC found{};
  found.format = static_cast<CUresourceViewFormat>(static_cast<int>(view.format));
  found.width = view.width;
  found.height = view.height;
  found.depth = view.depth;
  found.firstMipmapLevel = view.firstMipmapLevel;
  found.lastMipmapLevel = view.lastMipmapLevel;
  found.firstLayer = view.firstLayer;
  found.lastLayer = view.lastLayer;
  return found;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaCreateTextureObject(cudaTextureObject_t* made, const struct cudaResourceDesc* resource,
                        const struct cudaTextureDesc* texture,
                        const struct cudaResourceViewDesc* view) {
  CUDA_RESOURCE_DESC from;
  CUarray_format format{};
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, made, resource, texture)) return error;
  const CUresult result = tvmffi_cubin::DriverResource(*resource, &from, &format);
  if (result != CUDA_SUCCESS) return tvmffi_cubin::NoteRuntimeError(result);
  const CUDA_TEXTURE_DESC how = tvmffi_cubin::DriverTexture(*texture, format);
  CUDA_RESOURCE_VIEW_DESC as{};
  if (view != nullptr) as = tvmffi_cubin::DriverView(*view);
  return tvmffi_cubin::NoteRuntimeError(
      tvmffi_cubin::entry::cuTexObjectCreate(made, &from, &how, view != nullptr ? &as : nullptr));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDestroyTextureObject(cudaTextureObject_t texture) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuTexObjectDestroy, texture);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaCreateSurfaceObject(cudaSurfaceObject_t* made, const struct cudaResourceDesc* resource) {
  CUDA_RESOURCE_DESC from;
  CUarray_format format{};
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, made, resource)) return error;
  const CUresult result = tvmffi_cubin::DriverResource(*resource, &from, &format);
  return tvmffi_cubin::NoteRuntimeError(
      result == CUDA_SUCCESS ? tvmffi_cubin::entry::cuSurfObjectCreate(made, &from) : result);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaDestroySurfaceObject(cudaSurfaceObject_t surface) {
  return tvmffi_cubin::CallInContext(tvmffi_cubin::entry::cuSurfObjectDestroy, surface);
}

#endif  // TVMFFI_CUBIN_RUNTIME_TEXTURES_H_
