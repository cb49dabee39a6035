/*!
 * \file tensor_map.c
 * \brief cuTensorMapEncodeTiled and Im2col: the driver's checks, as its documentation has them, but
 * for those of an H200 (driver 580) where that differs; the map holds what it was asked for.
 */
#include <string.h>

#include "stub.h"

/*! \brief Bit 85 of a map, which drivers before CUDA 13.2 set whatever the tensor's size is. */
static const uint64_t kMark = 1ull << 21;

/* The packed types and the last swizzles came with CUDA 12.8; older headers lack their names. */
enum { kPacked4Align8 = 13, kPacked4Align16 = 14, kPacked6Align16 = 15, kTypeCount = 16 };
enum { kAtom32 = 4, kAtom64 = 6, kSwizzleCount = 7 };
enum { kMaxRank = 5, kMaxBox = 256, kMaxElementStride = 8, kMaxPixels = 1024 };

static const int kBits[kTypeCount] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
static const bool kIsFloat[kTypeCount] = {[6] = true,  [7] = true,  [8] = true, [9] = true,
                                          [10] = true, [11] = true, [12] = true};

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

static bool TypeIsWide(int type) { return type == kPacked4Align16 || type == kPacked6Align16; }

static bool ModesFit(const Request* r) {
  if (r->interleave < 0 || r->interleave > CU_TENSOR_MAP_INTERLEAVE_32B) return false;
  if (r->swizzle < 0 || r->swizzle >= kSwizzleCount) return false;
  if (r->promotion < 0 || r->promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B) return false;
  if (r->fill < 0 || r->fill > 1 || (r->fill == 1 && !kIsFloat[r->type])) return false;
  /* Interleave 32B is documented for swizzle 32B alone; the driver takes any. */
  if (r->type == kPacked6Align16 && r->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return false;
  if (!TypeIsWide(r->type)) return true;
  return r->swizzle == CU_TENSOR_MAP_SWIZZLE_NONE || r->swizzle == CU_TENSOR_MAP_SWIZZLE_128B ||
         r->swizzle == kAtom32 || (r->swizzle == kAtom64 && r->type == kPacked6Align16);
}

static bool MemoryFits(const Request* r) {
  bool wide = TypeIsWide(r->type) || r->interleave == CU_TENSOR_MAP_INTERLEAVE_32B;
  uint64_t align = wide ? 32 : 16;
  if (r->address % align != 0) return false;
  for (uint32_t i = 0; i < r->rank; ++i) {
    if (r->dims[i] < 1 || r->dims[i] > 1ull << 32) return false;
    if (r->steps[i] < 1 || r->steps[i] > kMaxElementStride) return false;
    if (i > 0 && (r->strides[i - 1] % align != 0 || r->strides[i - 1] >= 1ull << 40)) return false;
  }
  uint64_t factor = TypeIsWide(r->type) ? 128 : r->type == kPacked4Align8 ? 2 : 1;
  return r->dims[0] % factor == 0;
}

/* The innermost part of a box, or of a pixel. */
static bool InnerFits(const Request* r, uint64_t elements) {
  static const uint64_t kSpans[kSwizzleCount] = {~0ull, 32, 64, 128, 128, 128, 128};
  if (elements < 1 || elements > kMaxBox) return false;
  if (TypeIsWide(r->type) && elements != 128) return false;
  if (r->interleave == CU_TENSOR_MAP_INTERLEAVE_32B) return true;
  uint64_t bits = elements * (uint64_t)kBits[r->type];
  if (bits % 128 != 0) return false; /* not documented for interleave 16B */
  return r->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || bits / 8 <= kSpans[r->swizzle];
}

/* Not documented: what one load brings has to fit into a multiprocessor. */
static bool LoadFits(const Request* r, uint64_t elements) {
  const StubContext* context = StubCurrentContext();
  int device = context != NULL ? context->device : 0;
  return elements * (uint64_t)kBits[r->type] / 8 <=
         (uint64_t)StubAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
}

static bool RequestFits(const Request* r, uint32_t least_rank) {
  if (r->map == NULL || (uintptr_t)r->map % 64 != 0) return false;
  if (r->type < 0 || r->type >= kTypeCount) return false;
  if (stub.driver_version < 12080 && (r->type >= kPacked4Align8 || r->swizzle >= kAtom32)) {
    return false;
  }
  if (r->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && least_rank < 3) least_rank = 3;
  if (r->rank < least_rank || r->rank > kMaxRank) return false;
  if (!r->dims || !r->strides || !r->steps) return false;
  return ModesFit(r) && MemoryFits(r);
}

static uint64_t Span(const Request* r) {
  uint64_t bytes = r->dims[0] * (uint64_t)kBits[r->type] / 8;
  for (uint32_t i = 1; i < r->rank; ++i) bytes += (r->dims[i] - 1) * r->strides[i - 1];
  return bytes;
}

static Encoded Encode(const Request* r) {
  bool is_marked = stub.driver_version < 13020 || Span(r) >= 128 << 10;
  Encoded made = {.address = r->address, .marks = is_marked ? kMark : 0,
                  .type = (uint8_t)r->type, .rank = (uint8_t)r->rank,
                  .interleave = (uint8_t)r->interleave, .swizzle = (uint8_t)r->swizzle,
                  .promotion = (uint8_t)r->promotion, .fill = (uint8_t)r->fill};
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
    const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  STUB_ENTER(STUB_INITIALIZED, LOGGED_REQUEST, (int)type, rank, (size_t)address, (int)interleave,
             (int)swizzle, (int)promotion, (int)fill);
  Request request = {map, (int)type, (int)interleave, (int)swizzle, (int)promotion, (int)fill,
                     rank, (uintptr_t)address, dims, strides, element_strides};
  STUB_REQUIRE(box != NULL && RequestFits(&request, 1), CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(InnerFits(&request, box[0]), CUDA_ERROR_INVALID_VALUE);
  Encoded made = Encode(&request);
  uint64_t elements = 1;
  for (cuuint32_t i = 0; i < rank; ++i) {
    STUB_REQUIRE(box[i] >= 1 && box[i] <= kMaxBox, CUDA_ERROR_INVALID_VALUE);
    made.part.box[i] = box[i];
    elements *= (box[i] + element_strides[i] - 1) / element_strides[i];
  }
  STUB_REQUIRE(LoadFits(&request, elements), CUDA_ERROR_INVALID_VALUE);
  return Finish(map, &made);
}

CUresult CUDAAPI cuTensorMapEncodeIm2col(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* dims, const cuuint64_t* strides, const int* lower, const int* upper,
    cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* element_strides,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  STUB_ENTER(STUB_INITIALIZED, LOGGED_REQUEST ",'channels':%u,'pixels':%u", (int)type, rank,
             (size_t)address, (int)interleave, (int)swizzle, (int)promotion, (int)fill, channels,
             pixels);
  Request request = {map, (int)type, (int)interleave, (int)swizzle, (int)promotion, (int)fill,
                     rank, (uintptr_t)address, dims, strides, element_strides};
  STUB_REQUIRE(lower && upper && RequestFits(&request, 3), CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(InnerFits(&request, channels), CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(pixels >= 1 && pixels <= kMaxPixels, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(LoadFits(&request, (uint64_t)channels * pixels), CUDA_ERROR_INVALID_VALUE);
  Encoded made = Encode(&request);
  made.mode = 1;
  made.part.im2col.channels = (uint16_t)channels;
  made.part.im2col.pixels = (uint16_t)pixels;
  int limit = rank == 3 ? 32768 : rank == 4 ? 128 : 16;
  for (cuuint32_t i = 0; i + 2 < rank; ++i) {
    bool fits = lower[i] >= -limit && lower[i] < limit && upper[i] >= -limit && upper[i] < limit;
    // The box ends at the dimension's last element, moved by the upper corner.
    fits = fits && (int64_t)dims[i + 1] + upper[i] - lower[i] >= 1;
    STUB_REQUIRE(fits, CUDA_ERROR_INVALID_VALUE);
    made.part.im2col.lower[i] = (int16_t)lower[i];
    made.part.im2col.upper[i] = (int16_t)upper[i];
  }
  return Finish(map, &made);
}
