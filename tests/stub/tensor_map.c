/*!
 * \file tensor_map.c
 * \brief cuTensorMapEncodeTiled and Im2col: the map holds what it was asked for. What a driver
 * refuses is tested on a GPU; here it is DriverStub.fail that makes one refuse.
 */
#include <string.h>

#include "stub.h"

/*! \brief Bit 85 of a map, which drivers before CUDA 13.2 set whatever the tensor's size is. */
static const uint64_t kMark = 1ull << 21;

enum { kTypeCount = 16 };
static const int kBits[kTypeCount] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};

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

/*! \brief What both functions are given alike. */
typedef struct {
  CUtensorMap* map;
  int type, interleave, swizzle, promotion, fill;
  uint32_t rank;
  uintptr_t address;
  const cuuint64_t *dims, *strides;
  const cuuint32_t* steps;
} Request;

static bool RequestFits(const Request* r) {
  return r->map != NULL && r->type >= 0 && r->type < kTypeCount && r->rank >= 1 && r->rank <= 5;
}

static uint64_t Span(const Request* r) {
  uint64_t bytes = r->dims[0] * (uint64_t)kBits[r->type] / 8;
  for (uint32_t i = 1; i < r->rank; ++i) bytes += (r->dims[i] - 1) * r->strides[i - 1];
  return bytes;
}

static Encoded Encode(const Request* r) {
  bool is_marked = stub.driver_version < 13020 || Span(r) >= 128 << 10;
  Encoded made = {.address = r->address,
                  .marks = is_marked ? kMark : 0,
                  .type = (uint8_t)r->type,
                  .rank = (uint8_t)r->rank,
                  .interleave = (uint8_t)r->interleave,
                  .swizzle = (uint8_t)r->swizzle,
                  .promotion = (uint8_t)r->promotion,
                  .fill = (uint8_t)r->fill};
  for (uint32_t i = 0; i < r->rank; ++i) {
    made.dims[i] = r->dims[i];
    made.element_strides[i] = (uint8_t)r->steps[i];
    if (i > 0) made.strides[i - 1] = r->strides[i - 1];
  }
  return made;
}

static CUresult Finish(CUtensorMap* map, const Encoded* made) {
  memset(map, 0, sizeof(*map));
  memcpy(map, made, sizeof(*made));
  return StubLeave(CUDA_SUCCESS);
}

#define LOGGED_REQUEST \
  "'type':%d,'rank':%u,'address':%zu,'interleave':%d,'swizzle':%d,'promotion':%d,'fill':%d"

CUresult CUDAAPI cuTensorMapEncodeTiled(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
    const cuuint32_t* element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  STUB_ENTER(STUB_INITIALIZED, LOGGED_REQUEST, (int)type, rank, (size_t)address, (int)interleave,
             (int)swizzle, (int)promotion, (int)fill);
  Request request = {map,          (int)type,          (int)interleave,
                     (int)swizzle, (int)promotion,     (int)fill,
                     rank,         (uintptr_t)address, dims,
                     strides,      element_strides};
  STUB_REQUIRE(RequestFits(&request), CUDA_ERROR_INVALID_VALUE);
  Encoded made = Encode(&request);
  for (cuuint32_t i = 0; i < rank; ++i) made.part.box[i] = box[i];
  return Finish(map, &made);
}

CUresult CUDAAPI cuTensorMapEncodeIm2col(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* dims, const cuuint64_t* strides, const int* lower, const int* upper,
    cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* element_strides,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill) {
  STUB_ENTER(STUB_INITIALIZED, LOGGED_REQUEST ",'channels':%u,'pixels':%u", (int)type, rank,
             (size_t)address, (int)interleave, (int)swizzle, (int)promotion, (int)fill, channels,
             pixels);
  Request request = {map,          (int)type,          (int)interleave,
                     (int)swizzle, (int)promotion,     (int)fill,
                     rank,         (uintptr_t)address, dims,
                     strides,      element_strides};
  STUB_REQUIRE(RequestFits(&request), CUDA_ERROR_INVALID_VALUE);
  Encoded made = Encode(&request);
  made.mode = 1;
  made.part.im2col.channels = (uint16_t)channels;
  made.part.im2col.pixels = (uint16_t)pixels;
  for (cuuint32_t i = 0; i + 2 < rank; ++i) {
    made.part.im2col.lower[i] = (int16_t)lower[i];
    made.part.im2col.upper[i] = (int16_t)upper[i];
  }
  return Finish(map, &made);
}
