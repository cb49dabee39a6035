/*!
 * \file array.c
 * \brief CUDA arrays, boxes that are copied to and from them, textures and surfaces of them.
 */
#include <stdlib.h>
#include <string.h>

#include "stub.h"

typedef struct {
  CUDA_ARRAY3D_DESCRIPTOR described;
  size_t element, rows, layers;
  char data[];
} Array;

static size_t ElementSize(const CUDA_ARRAY3D_DESCRIPTOR* array) {
  switch ((int)array->Format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return array->NumChannels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2 * array->NumChannels;
    default:
      return 4 * array->NumChannels;
  }
}

CUresult CUDAAPI cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* wanted) {
  STUB_ENTER(STUB_INITIALIZED,
             "'width':%zu,'height':%zu,'depth':%zu,'format':%d,'channels':%u,'flags':%u",
             wanted->Width, wanted->Height, wanted->Depth, (int)wanted->Format, wanted->NumChannels,
             wanted->Flags);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  STUB_REQUIRE(wanted->Width > 0, CUDA_ERROR_INVALID_VALUE);
  size_t element = ElementSize(wanted);
  size_t rows = wanted->Height > 0 ? wanted->Height : 1;
  size_t layers = wanted->Depth > 0 ? wanted->Depth : 1;
  Array* made = calloc(1, sizeof(*made) + element * wanted->Width * rows * layers);
  STUB_REQUIRE(made != NULL, CUDA_ERROR_OUT_OF_MEMORY);
  made->described = *wanted;
  made->element = element;
  made->rows = rows;
  made->layers = layers;
  *array = (CUarray)made;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR* found, CUarray array) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(array != NULL, CUDA_ERROR_INVALID_HANDLE);
  *found = ((const Array*)array)->described;
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuArrayDestroy(CUarray array) {
  STUB_ENTER(STUB_INITIALIZED);
  STUB_REQUIRE(array != NULL, CUDA_ERROR_INVALID_HANDLE);
  free(array);
  return StubLeave(CUDA_SUCCESS);
}

typedef struct {
  char* start;
  size_t pitch, slice;
} Side;

static bool FindSide(CUmemorytype type, const void* host, CUdeviceptr device, CUarray handle,
                     size_t pitch, size_t height, size_t x, size_t y, size_t z,
                     const CUDA_MEMCPY3D* copy, Side* side) {
  *side = (Side){type == CU_MEMORYTYPE_HOST ? (char*)host : (char*)device, pitch, pitch * height};
  if (type == CU_MEMORYTYPE_ARRAY) {
    Array* array = (Array*)handle;
    if (array == NULL) return false;
    size_t row = array->element * array->described.Width;
    if (x + copy->WidthInBytes > row || y + copy->Height > array->rows ||
        z + copy->Depth > array->layers) {
      return false;
    }
    *side = (Side){array->data, row, row * array->rows};
  }
  side->start += x + y * side->pitch + z * side->slice;
  return true;
}

static CUresult CopyBox(const CUDA_MEMCPY3D* copy) {
  Side from, to;
  if (!FindSide(copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcArray, copy->srcPitch,
                copy->srcHeight, copy->srcXInBytes, copy->srcY, copy->srcZ, copy, &from) ||
      !FindSide(copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstArray, copy->dstPitch,
                copy->dstHeight, copy->dstXInBytes, copy->dstY, copy->dstZ, copy, &to)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t z = 0; z < copy->Depth; ++z) {
    for (size_t y = 0; y < copy->Height; ++y) {
      memmove(to.start + z * to.slice + y * to.pitch, from.start + z * from.slice + y * from.pitch,
              copy->WidthInBytes);
    }
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpy3D(const CUDA_MEMCPY3D* copy) {
  STUB_ENTER(STUB_INITIALIZED, "'width':%zu,'height':%zu,'depth':%zu", copy->WidthInBytes,
             copy->Height, copy->Depth);
  StubContext* context = NULL;
  STUB_TRY(StubActiveContext(&context));
  return StubLeave(CopyBox(copy));
}

CUresult CUDAAPI cuMemcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream handle) {
  STUB_ENTER(STUB_INITIALIZED, "'width':%zu,'height':%zu,'depth':%zu,'stream':%zu",
             copy->WidthInBytes, copy->Height, copy->Depth, (size_t)handle);
  StubContext* context = NULL;
  StubStream* stream = NULL;
  STUB_TRY(StubStreamContext(handle, &context, &stream));
  return StubLeave(CopyBox(copy));
}

CUresult CUDAAPI cuTexObjectCreate(CUtexObject* made, const CUDA_RESOURCE_DESC* resource,
                                   const CUDA_TEXTURE_DESC* texture,
                                   const CUDA_RESOURCE_VIEW_DESC* view) {
  STUB_ENTER(STUB_INITIALIZED, "'type':%d,'flags':%u,'filter':%d,'address':[%d,%d,%d],'viewed':%d",
             (int)resource->resType, texture->flags, (int)texture->filterMode,
             (int)texture->addressMode[0], (int)texture->addressMode[1],
             (int)texture->addressMode[2], view != NULL);
  STUB_REQUIRE(made != NULL, CUDA_ERROR_INVALID_VALUE);
  *made = 7;  // a token
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuTexObjectDestroy(CUtexObject texture) {
  STUB_ENTER(STUB_INITIALIZED, "'texture':%llu", texture);
  return StubLeave(texture == 7 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject* made, const CUDA_RESOURCE_DESC* resource) {
  STUB_ENTER(STUB_INITIALIZED, "'type':%d", (int)resource->resType);
  STUB_REQUIRE(made != NULL, CUDA_ERROR_INVALID_VALUE);
  *made = 9;  // a token
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject surface) {
  STUB_ENTER(STUB_INITIALIZED, "'surface':%llu", surface);
  return StubLeave(surface == 9 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
