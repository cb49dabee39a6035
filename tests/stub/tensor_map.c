/*!
 * \file tensor_map.c
 * \brief cuTensorMapEncodeTiled and Im2col: the map holds what it was asked for. What a driver
 * refuses is tested on a GPU; here it is DriverStub.fail that makes one refuse.
 */
#include <string.h>

#include "stub.h"

/*! \brief Bit 85 of a map, which drivers before CUDA 13.2 set whatever the tensor's size is. */
static const uint64_t kMark = 1ull << 21;

static const int kBits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};

/*! \brief The opaque 128 bytes, as this driver fills them; encoded_map.py reads them. */
typedef struct {
  uint64_t address, marks, dims[5], strides[4];
  union {
    uint32_t box[5];
    struct {
      int16_t lower[3], upper[3];
      uint16_t channels, pixels;
    } im2col;
  } part;
  uint8_t mode, type, rank, interleave, swizzle, promotion, fill, element_strides[5];
} Encoded;
_Static_assert(sizeof(Encoded) <= sizeof(CUtensorMap), "it must fit");

/* Ends the call of either function, which has set what it does not share with the other. */
static CUresult Encode(CUtensorMap* map, Encoded made, const cuuint64_t* dims,
                       const cuuint64_t* strides, const cuuint32_t* steps) {
  uint64_t span = dims[0] * (uint64_t)kBits[made.type] / 8;
  for (uint32_t i = 0; i < made.rank; ++i) {
    made.dims[i] = dims[i];
    made.element_strides[i] = (uint8_t)steps[i];
    if (i == 0) continue;
    made.strides[i - 1] = strides[i - 1];
    span += (dims[i] - 1) * strides[i - 1];
  }
  made.marks = stub.driver_version < 13020 || span >= 128 << 10 ? kMark : 0;
  memset(map, 0, sizeof(*map));
  memcpy(map, &made, sizeof(made));
  return StubLeave(CUDA_SUCCESS);
}

#define COMMON_FIELDS                                                                              \
  .address = (uintptr_t)address, .type = (uint8_t)type, .rank = (uint8_t)rank,                     \
  .interleave = (uint8_t)interleave, .swizzle = (uint8_t)swizzle, .promotion = (uint8_t)promotion, \
  .fill = (uint8_t)fill

CUresult CUDAAPI cuTensorMapEncodeTiled(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
    const cuuint32_t* element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  STUB_ENTER(STUB_INITIALIZED);
  Encoded made = {COMMON_FIELDS};
  for (cuuint32_t i = 0; i < rank; ++i) made.part.box[i] = box[i];
  return Encode(map, made, dims, strides, element_strides);
}

CUresult CUDAAPI cuTensorMapEncodeIm2col(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* dims, const cuuint64_t* strides, const int* lower, const int* upper,
    cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* element_strides,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill) {
  STUB_ENTER(STUB_INITIALIZED);
  Encoded made = {COMMON_FIELDS, .mode = 1};
  made.part.im2col.channels = (uint16_t)channels;
  made.part.im2col.pixels = (uint16_t)pixels;
  for (cuuint32_t i = 0; i + 2 < rank; ++i) {
    made.part.im2col.lower[i] = (int16_t)lower[i];
    made.part.im2col.upper[i] = (int16_t)upper[i];
  }
  return Encode(map, made, dims, strides, element_strides);
}
