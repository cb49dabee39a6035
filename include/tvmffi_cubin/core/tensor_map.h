/*!
 * \file tvmffi_cubin/core/tensor_map.h
 * \brief Tensor maps: what one is asked to be, the memory that it describes, the map that the
 * driver makes, and what is wrong with one that it refuses.
 */
#pragma once

#include <stdarg.h>

#include "device.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuTensorMapEncodeTiled, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuTensorMapEncodeIm2col, 12000)

constexpr int kMaxMapRank = 5;
constexpr int kMaxMapCorners = kMaxMapRank - 2;

/*!
 * \brief What a tensor map is to be. Dimensions are as the tensor has them, outermost first;
 * setters return it, so it can be composed. Modes are the driver's numbers.
 */
struct __attribute__((visibility("default"))) TensorMapOptions {
  bool is_im2col = false;  // pixels of an image as a convolution reads them, else boxes
  int8_t type = -1;        // CUtensorMapDataType; -1: the tensor's
  uint8_t swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  uint8_t interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  uint8_t l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  uint8_t oob_fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  bool has_global_dim = false;      // else the tensor's own shape and strides
  bool has_global_strides = false;  // else without gaps
  int32_t rank = 0;                 // of the tensor that it is for
  // The words from here on are known to generated launchers by their numbers.
  int64_t box_dim[kMaxMapRank] = {};  // tiled
  int64_t element_strides[kMaxMapRank] = {1, 1, 1, 1, 1};
  int64_t lower_corner[kMaxMapCorners] = {};  // im2col: of all dimensions but the first and last
  int64_t upper_corner[kMaxMapCorners] = {};
  int64_t channels_per_pixel = 0;
  int64_t pixels_per_column = 0;
  int64_t global_dim[kMaxMapRank] = {};          // in elements of the map's type
  int64_t global_strides[kMaxMapRank - 1] = {};  // in bytes

  /*!
   * \brief Boxes of elements.
   * \param box_dim The box's size in elements in each of the tensor's dimensions, 1 to 256.
   */
  template <int kRank>
  static TensorMapOptions Tiled(const int64_t (&box_dim)[kRank]) {
    static_assert(kRank <= kMaxMapRank, "tensor maps have up to five dimensions");
    TensorMapOptions options;
    options.rank = kRank;
    memcpy(options.box_dim, box_dim, sizeof(box_dim));
    return options;
  }

  /*!
   * \brief Pixels of an image (N, W, C), (N, H, W, C) or (N, D, H, W, C), as a convolution reads
   * them.
   * \param lower_corner Of W; of H and W; or of D, H and W: where the box of pixels begins, from
   * the tensor's beginning.
   * \param upper_corner Where it ends, from the tensor's end.
   * \param channels_per_pixel Elements along C of one load, 1 to 256.
   * \param pixels_per_column Pixels of one load, 1 to 1024.
   */
  template <int kSpatial>
  static TensorMapOptions Im2col(const int64_t (&lower_corner)[kSpatial],
                                 const int64_t (&upper_corner)[kSpatial],
                                 int64_t channels_per_pixel, int64_t pixels_per_column) {
    static_assert(kSpatial <= kMaxMapCorners, "one to three dimensions lie between N and C");
    TensorMapOptions options;
    options.is_im2col = true;
    options.rank = kSpatial + 2;
    options.channels_per_pixel = channels_per_pixel;
    options.pixels_per_column = pixels_per_column;
    memcpy(options.lower_corner, lower_corner, sizeof(lower_corner));
    memcpy(options.upper_corner, upper_corner, sizeof(upper_corner));
    return options;
  }

  /*! \brief The step from one element to the next in each dimension, 1 to 8; all 1 unless set. */
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

  /*!
   * \brief Another type than the tensor's, of elements of the same size; or a packed one, whose 4-
   * or 6-bit values the tensor has in bytes: shape and box_dim then count values.
   */
  TensorMapOptions& SetDataType(CUtensorMapDataType data_type) {
    type = static_cast<int8_t>(data_type);
    return *this;
  }
};

/*! \brief The memory that a map describes. */
struct TensorMapMemory {
  CUtensorMapDataType type;
  void* address;
  int32_t rank;
  int64_t shape[kMaxMapRank];    // in elements of `type`
  int64_t strides[kMaxMapRank];  // in bytes; the innermost, one element, is not asked for
};

/*! \brief Why a map cannot be made: the kind of the error and its text, written where it fails. */
struct TensorMapProblem {
  const char* kind;  // "ValueError", "TypeError" or "LaunchError"
  char text[1024];
};

/*! \brief What is known of an element's type. */
struct TensorMapTypeFacts {
  const char* name;
  uint8_t code;  // DLPack's, of the types that tensors have
  uint8_t bits;
  uint8_t align;         // of addresses and strides, in bytes
  uint8_t inner_factor;  // of which the innermost dimension is a multiple
};

/*! \brief What is known of a type, by CUDA's number: headers before 12.8 lack the packed ones. */
inline const TensorMapTypeFacts& FactsOf(int type) {
  static constexpr TensorMapTypeFacts kFacts[] = {
      {"uint8", kDLUInt, 8, 16, 1},           {"uint16", kDLUInt, 16, 16, 1},
      {"uint32", kDLUInt, 32, 16, 1},         {"int32", kDLInt, 32, 16, 1},
      {"uint64", kDLUInt, 64, 16, 1},         {"int64", kDLInt, 64, 16, 1},
      {"float16", kDLFloat, 16, 16, 1},       {"float32", kDLFloat, 32, 16, 1},
      {"float64", kDLFloat, 64, 16, 1},       {"bfloat16", kDLBfloat, 16, 16, 1},
      {"float32_ftz", kDLFloat, 32, 16, 1},   {"tfloat32", kDLFloat, 32, 16, 1},
      {"tfloat32_ftz", kDLFloat, 32, 16, 1},  {"16u4_align8b", kDLUInt, 4, 16, 2},
      {"16u4_align16b", kDLUInt, 4, 32, 128}, {"16u6_align16b", kDLUInt, 6, 32, 128},
  };
  return kFacts[type];
}

/*! \brief What addresses and strides of a map are multiples of, in bytes. */
inline int64_t MapAlignment(const TensorMapOptions& options, int type) {
  return options.interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : FactsOf(type).align;
}

/*! \brief Writes a problem's printf-formatted text; returns false. */
__attribute__((format(printf, 3, 4))) bool FailMap(TensorMapProblem* problem, const char* kind,
                                                   const char* format, ...);

/*! \brief The type of maps that goes with a tensor's; -1 where there is none. */
inline int MapTypeOf(DLDataType dtype) {
  if (dtype.code == kDLFloat4_e2m1fn) return 13;  // 16U4_ALIGN8B: torch has two a byte
  if (dtype.code == kDLFloat6_e2m3fn || dtype.code == kDLFloat6_e3m2fn) return 15;  // 16U6_ALIGN16B
  if (dtype.lanes != 1) return -1;
  if (dtype.bits == 8) return CU_TENSOR_MAP_DATA_TYPE_UINT8;  // a bool and each kind of float8, too
  const int code = dtype.code == kDLInt && dtype.bits == 16 ? int{kDLUInt} : dtype.code;
  int type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  while (type >= 0 && (FactsOf(type).code != code || FactsOf(type).bits != dtype.bits)) --type;
  return type;
}

/*! \brief Whether a map is for this rank; what follows relies on it. */
inline bool IsMapRank(const TensorMapOptions& options, int rank, TensorMapProblem* problem) {
  return rank == options.rank ||
         FailMap(problem, "ValueError", "the rank is %d, the map is for rank %d", rank,
                 options.rank);
}

/*!
 * \brief Works out the memory of a map: its own `global_dim`, else a tensor's shape and strides.
 * \param tensor May be null where the map has its own dimensions and its type.
 */
inline bool DescribeMemory(const TensorMapOptions& options, const DLTensor* tensor, void* address,
                           TensorMapMemory* out, TensorMapProblem* problem) {
  const bool is_own = options.has_global_dim;
  const int inner = options.rank - 1;
  const int type = options.type >= 0 ? options.type : MapTypeOf(tensor->dtype);
  const int64_t given = tensor == nullptr ? 0 : tensor->dtype.bits * tensor->dtype.lanes;
  if (!is_own && !IsMapRank(options, tensor->ndim, problem)) return false;
  if (type < 0) {
    return FailMap(problem, "TypeError",
                   "tensor maps have no data type for elements of DLPack code %d, %d bits and %d "
                   "lanes: name one of that size, such as uint%ld",
                   tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes, given);
  }
  *out = {static_cast<CUtensorMapDataType>(type), address, options.rank, {}, {}};
  const TensorMapTypeFacts& facts = FactsOf(type);
  const int64_t held = is_own ? facts.bits : given;
  // Values of 4 and 6 bits come in bytes, too, since few frameworks have such types.
  if (held != facts.bits && (facts.bits >= 8 || held != 8)) {
    return FailMap(problem, "TypeError", "data type %s has %d bits, the tensor's elements have %ld",
                   facts.name, facts.bits, held);
  }
  int64_t compact = 1;  // elements
  for (int i = inner; i >= 0; --i) {
    const int64_t size = is_own ? options.global_dim[i] : tensor->shape[i];
    const int64_t stride = is_own || tensor->strides == nullptr ? compact : tensor->strides[i];
    int64_t bits = 0;
    // What overflows is more than any map takes.
    if (__builtin_mul_overflow(compact, size, &compact)) compact = INT64_MAX;
    if (__builtin_mul_overflow(stride, held, &bits)) bits = INT64_MAX - 7;
    out->shape[i] = size;
    if (i == inner && stride != 1 && size != 1) {
      return FailMap(problem, "ValueError",
                     "stride[%d], of the innermost dimension, is %ld elements, wanted 1", i,
                     stride);
    }
    if (options.has_global_strides) {
      out->strides[i] = i == inner ? 0 : options.global_strides[i];
    } else if (size == 1) {
      out->strides[i] = MapAlignment(options, type);  // of one element any that the driver takes
    } else if (i != inner && bits % 8 != 0) {
      return FailMap(problem, "ValueError", "stride[%d] is %ld bits, no whole bytes", i, bits);
    } else {
      out->strides[i] = bits / 8;
    }
  }
  if (held == facts.bits) return true;
  const int64_t total = out->shape[inner] * held;
  out->shape[inner] = total / facts.bits;
  return total % facts.bits == 0 ||
         FailMap(problem, "ValueError",
                 "shape[%d] is %ld elements of %ld bits, no whole number of %d-bit values", inner,
                 total / held, held, facts.bits);
}

/*!
 * \brief Says what is wrong with a map that the driver refuses, which has one answer for all of it:
 * the first number that is none of those that it takes, else what it was asked for.
 */
bool FailEncoding(const TensorMapOptions& options, const TensorMapMemory& memory,
                  const Status& status, TensorMapProblem* problem);

/*! \brief Makes a map of memory in the current context; the driver's order is made here. */
inline bool EncodeTensorMap(const TensorMapOptions& options, const TensorMapMemory& memory,
                            CUtensorMap* out, TensorMapProblem* problem) {
  if (!IsMapRank(options, memory.rank, problem)) return false;
  if (memory.address == nullptr) {
    return FailMap(problem, "ValueError", "there is no data: the address is null");
  }
  const auto rank = static_cast<cuuint32_t>(memory.rank);
  const int inner = memory.rank - 1;
  // The driver would ignore the innermost step.
  if (options.element_strides[inner] != 1 && options.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE) {
    return FailMap(problem, "ValueError",
                   "element_strides[%d], of the innermost dimension, is %ld, wanted 1", inner,
                   options.element_strides[inner]);
  }
  // In 32 bits, one that the driver refuses where it does not fit.
  const auto number = [](int64_t value) {
    return value == static_cast<int>(value) ? static_cast<int>(value) : INT32_MAX;
  };
  cuuint64_t dims[kMaxMapRank], strides[kMaxMapRank] = {};
  cuuint32_t box[kMaxMapRank], steps[kMaxMapRank];
  int lower[kMaxMapRank], upper[kMaxMapRank];
  for (int i = 0; i <= inner; ++i) {
    dims[i] = static_cast<cuuint64_t>(memory.shape[inner - i]);
    if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(memory.strides[inner - i]);
    box[i] = static_cast<cuuint32_t>(number(options.box_dim[inner - i]));
    steps[i] = static_cast<cuuint32_t>(number(options.element_strides[inner - i]));
  }
  for (int i = 0; i < inner - 1; ++i) {
    lower[i] = number(options.lower_corner[inner - 2 - i]);
    upper[i] = number(options.upper_corner[inner - 2 - i]);
  }
  const auto interleave = static_cast<CUtensorMapInterleave>(options.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(options.swizzle);
  const auto promotion = static_cast<CUtensorMapL2promotion>(options.l2_promotion);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(options.oob_fill);
  Status status;
  if (options.is_im2col) {
    status.call = "cuTensorMapEncodeIm2col";
    status.result = entry::cuTensorMapEncodeIm2col(
        out, memory.type, rank, memory.address, dims, strides, lower, upper,
        static_cast<cuuint32_t>(number(options.channels_per_pixel)),
        static_cast<cuuint32_t>(number(options.pixels_per_column)), steps, interleave, swizzle,
        promotion, fill);
  } else {
    status.call = "cuTensorMapEncodeTiled";
    status.result =
        entry::cuTensorMapEncodeTiled(out, memory.type, rank, memory.address, dims, strides, box,
                                      steps, interleave, swizzle, promotion, fill);
  }
  if (__builtin_expect(!status.ok(), 0)) return FailEncoding(options, memory, status, problem);
  if (driver_state.version >= 13020) return true;
  // Before, the driver sets bit 85 in every map, and devices of compute capability 10.0 address
  // memory beyond a small tensor's, which may be no one's; older ones do not read it.
  constexpr int64_t kSmall = 128 << 10;  // bytes from first to last
  int64_t bytes = memory.shape[inner] * FactsOf(memory.type).bits / 8;
  for (int i = 0; i < inner && bytes < kSmall; ++i) {
    const bool is_far = memory.shape[i] > 1 && memory.strides[i] >= kSmall;
    bytes += is_far ? kSmall : (memory.shape[i] - 1) * memory.strides[i];
  }
  if (bytes < kSmall) out->opaque[1] &= ~(UINT64_C(1) << 21);
  return true;
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD bool FailMap(TensorMapProblem* problem, const char* kind, const char* format,
                               ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(problem->text, sizeof(problem->text), format, values);
  va_end(values);
  problem->kind = kind;
  return false;
}

TVMFFI_CUBIN_COLD bool FailEncoding(const TensorMapOptions& options, const TensorMapMemory& memory,
                                    const Status& status, TensorMapProblem* problem) {
  static constexpr const char* kSwizzles[] = {
      "none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"};
  static constexpr const char* kInterleaves[] = {"none", "16B", "32B"};
  const TensorMapTypeFacts& facts = FactsOf(memory.type);
  const int swizzle = options.swizzle, inner = memory.rank - 1;
  const bool is_tiled = !options.is_im2col, is_own = options.has_global_dim;
  const bool is_plain = options.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE;
  const int64_t align = MapAlignment(options, memory.type);
  char modes[128];
  snprintf(modes, sizeof(modes), "(%s, swizzle '%s', interleave '%s')", facts.name,
           kSwizzles[swizzle], kInterleaves[options.interleave]);
  // Whether a number is none that the driver takes.
  const auto is_off = [&](const char* what, int index, int64_t value, int64_t least, int64_t most,
                          int64_t unit = 1) {
    if (value >= least && value <= most && value % unit == 0) return false;
    char units[48] = "";
    if (unit != 1) snprintf(units, sizeof(units), "multiples of %ld, ", unit);
    return !FailMap(problem, "ValueError", "%s[%d] is %ld, the driver takes %s%ld to %ld %s", what,
                    index, value, units, least, most, modes);
  };
  for (int i = 0; i <= inner; ++i) {
    if (is_off(is_own ? "global_dim" : "shape", i, memory.shape[i], 1, INT64_C(1) << 32,
               i == inner ? facts.inner_factor : 1) ||
        (i != inner && is_off(options.has_global_strides ? "global_strides" : "stride", i,
                              memory.strides[i], 0, (INT64_C(1) << 40) - align, align)) ||
        (i != inner && is_tiled && is_off("box_dim", i, options.box_dim[i], 1, 256)) ||
        is_off("element_strides", i, options.element_strides[i], 1, 8)) {
      return false;
    }
  }
  // Along the innermost dimension whole 16 bytes, within what a swizzle permutes.
  const int permuted = swizzle > 3 ? 128 : 16 << swizzle;  // bytes
  const int64_t span = is_plain && swizzle != 0 ? permuted * 8 / facts.bits : 256;
  const bool is_whole = facts.inner_factor == 128;
  const bool is_free = is_whole || options.interleave == CU_TENSOR_MAP_INTERLEAVE_32B;
  if (is_off(is_tiled ? "box_dim" : "channels_per_pixel", is_tiled ? inner : 0,
             is_tiled ? options.box_dim[inner] : options.channels_per_pixel, is_whole ? 128 : 1,
             is_whole ? 128 : (span < 256 ? span : 256), is_free ? 1 : 128 / facts.bits)) {
    return false;
  }
  if (reinterpret_cast<uintptr_t>(memory.address) % static_cast<uintptr_t>(align) != 0) {
    return FailMap(problem, "ValueError",
                   "the data lies at %p, wanted an address that is a multiple of %ld %s",
                   memory.address, align, modes);
  }
  char call[320];
  DescribeStatus(status, call, sizeof(call));
  const int arch = DeviceArch(CurrentDevice());
  const bool is_new = swizzle > CU_TENSOR_MAP_SWIZZLE_128B || facts.bits < 8;
  return FailMap(problem, "LaunchError", "%s %s%s", call, modes,
                 arch < 90 ? ". Tensor maps need a device of compute capability 9.0"
                 : arch < 100 && is_new
                     ? ". Packed data types and '128B_atom_*' swizzles need a device of compute "
                       "capability 10.0, and a driver of CUDA 12.8"
                     : "");
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END
