// Tensor maps: the options of one, the memory that it describes, and how the driver encodes it. A
// function returns null, or the kind of an error whose text it has added.
#pragma once

#include "device.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuTensorMapEncodeTiled, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuTensorMapEncodeIm2col, 12000)

constexpr int kMaxMapRank = 5;
constexpr int kMaxMapCorners = kMaxMapRank - 2;

/// Options of a tensor map. Dimensions are in the tensor's order, outermost first; setters return
/// the options, so they can be chained. Modes are the driver's numbers.
struct __attribute__((visibility("default"))) TensorMapOptions {
  bool is_im2col = false;  // pixels of an image, as a convolution reads them; else boxes
  int8_t type = -1;        // CUtensorMapDataType; -1: the tensor's
  uint8_t swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  uint8_t interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  uint8_t l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  uint8_t oob_fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  bool has_global_dim = false;      // else the tensor's own shape and strides
  bool has_global_strides = false;  // else compact
  int32_t rank = 0;                 // of the tensor that it is for
  // Generated launchers refer to the words from here on by number.
  int64_t box_dim[kMaxMapRank] = {};  // tiled
  int64_t element_strides[kMaxMapRank] = {1, 1, 1, 1, 1};
  int64_t lower_corner[kMaxMapCorners] = {};  // im2col: all dimensions but the first and last
  int64_t upper_corner[kMaxMapCorners] = {};
  int64_t channels_per_pixel = 0;
  int64_t pixels_per_column = 0;
  int64_t global_dim[kMaxMapRank] = {};          // in elements of the map's type
  int64_t global_strides[kMaxMapRank - 1] = {};  // in bytes

  /// Boxes of elements.
  /// \param box_dim The box's size in elements in each of the tensor's dimensions, 1 to 256.
  template <int kRank>
  static TensorMapOptions Tiled(const int64_t (&box_dim)[kRank]) {
    static_assert(kRank <= kMaxMapRank, "tensor maps have up to five dimensions");
    TensorMapOptions options;
    options.rank = kRank;
    memcpy(options.box_dim, box_dim, sizeof(box_dim));
    return options;
  }

  /// Pixels of an image (N, W, C), (N, H, W, C) or (N, D, H, W, C), as a convolution reads them.
  /// \param lower_corner Where the box of pixels begins, from the tensor's beginning: in W; in H
  /// and W; or in D, H and W.
  /// \param upper_corner Where it ends, from the tensor's end.
  /// \param channels_per_pixel Elements along C per load, 1 to 256.
  /// \param pixels_per_column Pixels per load, 1 to 1024.
  template <int kSpatial>
  static TensorMapOptions Im2col(const int64_t (&lower_corner)[kSpatial],
                                 const int64_t (&upper_corner)[kSpatial],
                                 int64_t channels_per_pixel, int64_t pixels_per_column) {
    static_assert(kSpatial <= kMaxMapCorners, "an image has 1 to 3 dimensions between N and C");
    TensorMapOptions options;
    options.is_im2col = true;
    options.rank = kSpatial + 2;
    options.channels_per_pixel = channels_per_pixel;
    options.pixels_per_column = pixels_per_column;
    memcpy(options.lower_corner, lower_corner, sizeof(lower_corner));
    memcpy(options.upper_corner, upper_corner, sizeof(upper_corner));
    return options;
  }

  /// The step from one element to the next in each dimension, 1 to 8; all 1 unless set.
  template <int kRank>
  TensorMapOptions& SetElementStrides(const int64_t (&strides)[kRank]) {
    static_assert(kRank <= kMaxMapRank, "tensor maps have up to five dimensions");
    memcpy(element_strides, strides, sizeof(strides));
    return *this;
  }

  TensorMapOptions& SetSwizzle(CUtensorMapSwizzle mode) {
    swizzle = static_cast<uint8_t>(mode);
    return *this;
  }
  TensorMapOptions& SetInterleave(CUtensorMapInterleave mode) {
    interleave = static_cast<uint8_t>(mode);
    return *this;
  }
  TensorMapOptions& SetL2Promotion(CUtensorMapL2promotion mode) {
    l2_promotion = static_cast<uint8_t>(mode);
    return *this;
  }
  TensorMapOptions& SetOobFill(CUtensorMapFloatOOBfill mode) {
    oob_fill = static_cast<uint8_t>(mode);
    return *this;
  }

  /// A type other than the tensor's, with elements of the same size; or a packed one, whose 4- or
  /// 6-bit values the tensor stores in bytes: shape and box_dim then count values.
  TensorMapOptions& SetDataType(CUtensorMapDataType data_type) {
    type = static_cast<int8_t>(data_type);
    return *this;
  }
};

/// The memory that a map describes.
struct TensorMapMemory {
  CUtensorMapDataType type;
  void* address;
  int32_t rank;
  int64_t shape[kMaxMapRank];    // in elements of `type`
  int64_t strides[kMaxMapRank];  // in bytes; the innermost, one element, is unused
};

struct TensorMapTypeFacts {
  const char* name;
  uint8_t code;  // DLPack's, for types that tensors have
  uint8_t bits;
};

// Facts about a type, by CUDA's number: headers before 12.8 lack the packed ones.
inline const TensorMapTypeFacts& FactsOf(int type) {
  static constexpr TensorMapTypeFacts kFacts[] = {
      {"uint8", kDLUInt, 8},          {"uint16", kDLUInt, 16},       {"uint32", kDLUInt, 32},
      {"int32", kDLInt, 32},          {"uint64", kDLUInt, 64},       {"int64", kDLInt, 64},
      {"float16", kDLFloat, 16},      {"float32", kDLFloat, 32},     {"float64", kDLFloat, 64},
      {"bfloat16", kDLBfloat, 16},    {"float32_ftz", kDLFloat, 32}, {"tfloat32", kDLFloat, 32},
      {"tfloat32_ftz", kDLFloat, 32}, {"16u4_align8b", kDLUInt, 4},  {"16u4_align16b", kDLUInt, 4},
      {"16u6_align16b", kDLUInt, 6},
  };
  return kFacts[type];
}

// The map type for a tensor's dtype; -1 if there is none.
inline int MapTypeOf(DLDataType dtype) {
  if (dtype.code == kDLFloat4_e2m1fn) return 13;  // 16U4_ALIGN8B: torch has two per byte
  if (dtype.code == kDLFloat6_e2m3fn || dtype.code == kDLFloat6_e3m2fn) return 15;  // 16U6_ALIGN16B
  if (dtype.lanes != 1) return -1;
  if (dtype.bits == 8) return CU_TENSOR_MAP_DATA_TYPE_UINT8;  // bool and every float8, too
  const int code = dtype.code == kDLInt && dtype.bits == 16 ? int{kDLUInt} : dtype.code;
  int type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  while (type >= 0 && (FactsOf(type).code != code || FactsOf(type).bits != dtype.bits)) --type;
  return type;
}

// The alignment of a map's address and strides, in bytes.
inline int64_t MapAlignment(const TensorMapOptions& options, int type) {
  const bool is_packed = type >= 14;  // 16U4_ALIGN16B, 16U6_ALIGN16B
  return is_packed || options.interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
}

// Determines the memory of a map: its own `global_dim`, which together with its type needs no
// tensor, else the shape and strides of a tensor of its rank.
inline const char* DescribeMemory(const TensorMapOptions& options, const DLTensor* tensor,
                                  void* address, TensorMapMemory* out, Text* text) {
  const bool is_own = options.has_global_dim;
  const int inner = options.rank - 1;
  const int type = options.type >= 0 ? options.type : MapTypeOf(tensor->dtype);
  if (type < 0) {
    text->Add(
        "no data type for elements of DLPack code %d, %d bits, %d lanes: set one of that size",
        tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes);
    return "TypeError";
  }
  *out = {static_cast<CUtensorMapDataType>(type), address, options.rank, {}, {}};
  const TensorMapTypeFacts& facts = FactsOf(type);
  const int64_t held = is_own ? facts.bits : tensor->dtype.bits * tensor->dtype.lanes;
  // 4- and 6-bit values may come in bytes, too, since few frameworks have such types.
  if (held != facts.bits && (facts.bits >= 8 || held != 8)) {
    text->Add("data type %s has %d bits, but the tensor's elements have %ld", facts.name,
              facts.bits, held);
    return "TypeError";
  }
  int64_t compact = 1;  // elements
  for (int i = inner; i >= 0; --i) {
    const int64_t size = is_own ? options.global_dim[i] : tensor->shape[i];
    const int64_t stride = is_own || tensor->strides == nullptr ? compact : tensor->strides[i];
    int64_t bits = 0;
    // The driver rejects what overflows or is not whole bytes.
    if (__builtin_mul_overflow(compact, size, &compact)) compact = INT64_MAX;
    if (__builtin_mul_overflow(stride, held, &bits) || bits % 8 != 0) bits = INT64_MAX - 7;
    out->shape[i] = size;
    if (i == inner && stride != 1 && size != 1) {
      text->Add("stride[%d], of the innermost dimension, is %ld elements, expected 1", i, stride);
      return "ValueError";
    }
    if (options.has_global_strides) {
      out->strides[i] = i == inner ? 0 : options.global_strides[i];
    } else if (size == 1) {
      out->strides[i] = MapAlignment(options, type);  // for one element, any the driver accepts
    } else {
      out->strides[i] = bits / 8;
    }
  }
  if (held != facts.bits) out->shape[inner] = out->shape[inner] * held / facts.bits;
  return nullptr;
}

// Adds a rejected map's options and what the driver accepts: it returns one error for everything.
TVMFFI_CUBIN_COLD const char* AddMapRefusal(const TensorMapOptions& options,
                                            const TensorMapMemory& memory, const Status& status,
                                            Text* text) {
  static constexpr const char* kSwizzles[] = {
      "none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"};
  static constexpr const char* kInterleaves[] = {"none", "16B", "32B"};
  const auto add = [text](const char* field, const int64_t* values, int count) {
    text->Add(", %s [", field);
    for (int i = 0; i < count; ++i) text->Add("%s%ld", i == 0 ? "" : ", ", values[i]);
    text->Add("]");
  };
  const int rank = memory.rank;
  text->Add("%s: %s at %p", DescribeStatus(status).chars, FactsOf(memory.type).name,
            memory.address);
  add("shape", memory.shape, rank);
  add("strides in bytes", memory.strides, rank - 1);
  if (options.is_im2col) {
    add("lower_corner", options.lower_corner, rank - 2);
    add("upper_corner", options.upper_corner, rank - 2);
    add("pixels_per_column", &options.pixels_per_column, 1);
    add("channels_per_pixel", &options.channels_per_pixel, 1);
  } else {
    add("box_dim", options.box_dim, rank);
  }
  add("element_strides", options.element_strides, rank);
  text->Add(
      ", swizzle '%s', interleave '%s'. Required: address and strides multiples of %ld bytes; "
      "sizes 1 or more; box_dim, channels_per_pixel up to 256, the innermost a multiple of 16 "
      "bytes and no more than a swizzle's; element_strides up to 8; pixels_per_column up to 1024; "
      "corners of 16, 8, 5 bits in rank 3, 4, 5. Packed types and '128B_atom_*' require sm_100 and "
      "CUDA 12.8's driver, all maps sm_90",
      kSwizzles[options.swizzle], kInterleaves[options.interleave],
      MapAlignment(options, memory.type));
  return status.result == CUDA_ERROR_INVALID_VALUE ? "ValueError" : "LaunchError";
}

// Encodes a map for memory of its rank in the current context, dimensions in the driver's order.
// Checks first what the driver would accept silently.
inline const char* EncodeTensorMap(const TensorMapOptions& options, const TensorMapMemory& memory,
                                   CUtensorMap* out, Text* text) {
  const int inner = memory.rank - 1;
  if (memory.address == nullptr) {
    text->Add("no data: the address is null");
    return "ValueError";
  }
  if (options.element_strides[inner] != 1 && options.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE) {
    text->Add("element_strides[%d], of the innermost dimension, is %ld, expected 1", inner,
              options.element_strides[inner]);
    return "ValueError";
  }
  // In 32 bits; a value that does not fit becomes one that the driver rejects.
  const auto number = [](int64_t value) {
    return value == static_cast<int>(value) ? static_cast<int>(value) : INT32_MAX;
  };
  cuuint64_t dims[kMaxMapRank], strides[kMaxMapRank] = {};
  cuuint32_t box[kMaxMapRank], steps[kMaxMapRank];
  int lower[kMaxMapRank], upper[kMaxMapRank];
  for (int i = inner, to = 0; i >= 0; --i, ++to) {
    dims[to] = static_cast<cuuint64_t>(memory.shape[i]);
    if (to > 0) strides[to - 1] = static_cast<cuuint64_t>(memory.strides[i]);
    box[to] = number(options.box_dim[i]);
    steps[to] = number(options.element_strides[i]);
    lower[to] = i < 2 ? 0 : number(options.lower_corner[i - 2]);
    upper[to] = i < 2 ? 0 : number(options.upper_corner[i - 2]);
  }
  const auto rank = static_cast<cuuint32_t>(memory.rank);
  const auto interleave = static_cast<CUtensorMapInterleave>(options.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(options.swizzle);
  const auto promotion = static_cast<CUtensorMapL2promotion>(options.l2_promotion);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(options.oob_fill);
  const CUresult result =
      options.is_im2col
          ? entry::cuTensorMapEncodeIm2col(out, memory.type, rank, memory.address, dims, strides,
                                           lower, upper, number(options.channels_per_pixel),
                                           number(options.pixels_per_column), steps, interleave,
                                           swizzle, promotion, fill)
          : entry::cuTensorMapEncodeTiled(out, memory.type, rank, memory.address, dims, strides,
                                          box, steps, interleave, swizzle, promotion, fill);
  if (__builtin_expect(result != CUDA_SUCCESS, 0)) {
    const char* call = options.is_im2col ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled";
    return AddMapRefusal(options, memory, {result, call}, text);
  }
  if (driver_state.version >= 13020) return nullptr;
  // Older drivers set bit 85 in every map, and devices of compute capability 10.0 then address
  // memory beyond a small tensor's, which may be unallocated; older devices do not read the bit.
  double bytes = static_cast<double>(memory.shape[inner] * FactsOf(memory.type).bits / 8);
  for (int i = 0; i < inner; ++i) {
    bytes += static_cast<double>(memory.shape[i] - 1) * static_cast<double>(memory.strides[i]);
  }
  if (bytes < 128 << 10) out->opaque[1] &= ~(UINT64_C(1) << 21);
  return nullptr;
}

TVMFFI_CUBIN_END
