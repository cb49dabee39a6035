/*!
 * \file tensor_map.c
 * \brief cuTensorMapEncodeTiled: the driver's checks; the map holds what it was asked for.
 */
#include <string.h>

#include "stub.h"

static const int kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
enum {
  kTypeCount = sizeof(kElementBytes) / sizeof(kElementBytes[0]),
  kMaxRank = 5,
  kMaxBox = 256,
  kMaxElementStride = 8
};

/*! \brief The opaque 128 bytes, as this driver fills them. */
typedef struct {
  uint64_t address, dims[5], strides[4];
  uint32_t box[5];
  uint8_t type, rank, interleave, swizzle, promotion, fill, element_strides[5];
} Encoded;
_Static_assert(sizeof(Encoded) <= sizeof(CUtensorMap), "it must fit");

static bool SwizzleFits(CUtensorMapSwizzle swizzle, uint64_t inner_bytes) {
  if (swizzle == CU_TENSOR_MAP_SWIZZLE_32B) return inner_bytes <= 32;
  if (swizzle == CU_TENSOR_MAP_SWIZZLE_64B) return inner_bytes <= 64;
  return swizzle == CU_TENSOR_MAP_SWIZZLE_NONE || inner_bytes <= 128;
}

CUresult CUDAAPI cuTensorMapEncodeTiled(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
    const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  STUB_ENTER(STUB_INITIALIZED,
             "'type':%d,'rank':%u,'address':%zu,'interleave':%d,'swizzle':%d,'promotion':%d,"
             "'fill':%d",
             (int)type, rank, (size_t)address, (int)interleave, (int)swizzle, (int)promotion,
             (int)fill);
  STUB_REQUIRE(map != NULL && (uintptr_t)map % 64 == 0, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE((int)type >= 0 && (int)type < kTypeCount, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(rank >= 1 && rank <= kMaxRank, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(dims && strides && box && element_strides, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE((uintptr_t)address % 16 == 0, CUDA_ERROR_INVALID_VALUE);
  Encoded encoded = {.address = (uint64_t)address, .type = (uint8_t)type, .rank = (uint8_t)rank,
                     .interleave = (uint8_t)interleave, .swizzle = (uint8_t)swizzle,
                     .promotion = (uint8_t)promotion, .fill = (uint8_t)fill};
  for (cuuint32_t i = 0; i < rank; ++i) {
    const char* comma = i > 0 ? "," : ",'dims':[";
    StubLogMore("%s[%llu,%u,%u,%llu]", comma, (unsigned long long)dims[i], box[i],
                element_strides[i], i > 0 ? (unsigned long long)strides[i - 1] : 0ull);
    encoded.dims[i] = dims[i];
    encoded.box[i] = box[i];
    encoded.element_strides[i] = (uint8_t)element_strides[i];
    if (i > 0) encoded.strides[i - 1] = strides[i - 1];
  }
  StubLogMore("]");
  for (cuuint32_t i = 0; i < rank; ++i) {
    bool fits = dims[i] >= 1 && dims[i] <= 1ull << 32 && box[i] >= 1 && box[i] <= kMaxBox &&
                element_strides[i] >= 1 && element_strides[i] <= kMaxElementStride;
    if (i > 0) fits = fits && strides[i - 1] % 16 == 0 && strides[i - 1] < 1ull << 40;
    STUB_REQUIRE(fits, CUDA_ERROR_INVALID_VALUE);
  }
  uint64_t inner = (uint64_t)box[0] * (uint64_t)kElementBytes[type];
  STUB_REQUIRE(inner % 16 == 0 && SwizzleFits(swizzle, inner), CUDA_ERROR_INVALID_VALUE);
  memset(map, 0, sizeof(*map));
  memcpy(map, &encoded, sizeof(encoded));
  return StubLeave(CUDA_SUCCESS);
}
