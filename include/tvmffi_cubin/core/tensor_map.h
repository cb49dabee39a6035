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

/*! \brief How elements are addressed: boxes, or pixels of an image as a convolution reads them. */
enum class TensorMapMode : uint8_t { kTiled, kIm2col };

// The enumerators below have the driver's numbers, and headers before CUDA 12.8 lack some of them.

/*! \brief An element's type: CUtensorMapDataType. */
enum class TensorMapType : int8_t {
  kFromTensor = -1,
  kUint8,
  kUint16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBfloat16,
  kFloat32Ftz,
  kTfloat32,
  kTfloat32Ftz,
  k16U4Align8B,
  k16U4Align16B,
  k16U6Align16B,
};

/*! \brief How shared memory is permuted against bank conflicts: CUtensorMapSwizzle. */
enum class TensorMapSwizzle : uint8_t {
  kNone,
  k32B,
  k64B,
  k128B,
  k128BAtom32B,
  k128BAtom32BFlip8B,
  k128BAtom64B,
};

/*! \brief Channels kept in groups of 16 or 32 bytes: CUtensorMapInterleave. */
enum class TensorMapInterleave : uint8_t { kNone, k16B, k32B };

/*! \brief What the L2 cache fetches at least: CUtensorMapL2promotion. */
enum class TensorMapL2Promotion : uint8_t { kNone, k64B, k128B, k256B };

/*! \brief What is read beyond the tensor: CUtensorMapFloatOOBfill. */
enum class TensorMapOobFill : uint8_t { kZeros, kNan };

/*! \brief What a tensor map is asked to be. */
struct TensorMapSpec {
  TensorMapMode mode = TensorMapMode::kTiled;
  TensorMapType type = TensorMapType::kFromTensor;
  TensorMapSwizzle swizzle = TensorMapSwizzle::kNone;
  TensorMapInterleave interleave = TensorMapInterleave::kNone;
  TensorMapL2Promotion l2_promotion = TensorMapL2Promotion::kNone;
  TensorMapOobFill oob_fill = TensorMapOobFill::kZeros;
  int32_t rank = 0;                 // of the tensor that it is for
  int32_t num_element_strides = 0;  // 0: all 1
  int32_t num_global_dims = 0;      // 0: the tensor's own shape and strides
  int32_t num_global_strides = 0;   // 0: without gaps
  // The words from here on are known to generated launchers by their numbers.
  int64_t box_dim[kMaxMapRank] = {};  // tiled
  int64_t element_strides[kMaxMapRank] = {};
  int64_t lower_corner[kMaxMapCorners] = {};  // im2col: of all dimensions but the first and last
  int64_t upper_corner[kMaxMapCorners] = {};
  int64_t channels_per_pixel = 0;
  int64_t pixels_per_column = 0;
  int64_t global_dim[kMaxMapRank] = {};          // in elements of the map's type
  int64_t global_strides[kMaxMapRank - 1] = {};  // in bytes
};

/*! \brief The memory that a map describes. */
struct TensorMapMemory {
  TensorMapType type;
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

/*! \brief What is known of a type; not of kFromTensor. */
inline const TensorMapTypeFacts& FactsOf(TensorMapType type) {
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
  return kFacts[static_cast<int>(type)];
}

/*! \brief What addresses and strides of a map are multiples of, in bytes. */
inline int64_t MapAlignment(const TensorMapSpec& spec, TensorMapType type) {
  return spec.interleave == TensorMapInterleave::k32B ? 32 : FactsOf(type).align;
}

/*! \brief Writes a problem's printf-formatted text; returns false. */
__attribute__((format(printf, 3, 4))) bool FailMap(TensorMapProblem* problem, const char* kind,
                                                   const char* format, ...);

/*! \brief The type of maps that goes with a tensor's; kFromTensor where there is none. */
inline TensorMapType MapTypeOf(DLDataType dtype) {
  if (dtype.code == kDLFloat4_e2m1fn) return TensorMapType::k16U4Align8B;  // torch has two a byte
  if (dtype.code == kDLFloat6_e2m3fn || dtype.code == kDLFloat6_e3m2fn) {
    return TensorMapType::k16U6Align16B;
  }
  if (dtype.lanes != 1) return TensorMapType::kFromTensor;
  if (dtype.bits == 8) return TensorMapType::kUint8;  // a bool and each kind of float8, too
  const int code = dtype.code == kDLInt && dtype.bits == 16 ? int{kDLUInt} : dtype.code;
  for (int i = 0; i <= static_cast<int>(TensorMapType::kBfloat16); ++i) {
    const TensorMapTypeFacts& facts = FactsOf(static_cast<TensorMapType>(i));
    if (facts.code == code && facts.bits == dtype.bits) return static_cast<TensorMapType>(i);
  }
  return TensorMapType::kFromTensor;
}

/*! \brief Whether a map is for this rank; what follows relies on it. */
inline bool IsMapRank(const TensorMapSpec& spec, int rank, TensorMapProblem* problem) {
  return (rank == spec.rank && rank >= 1 && rank <= kMaxMapRank) ||
         FailMap(problem, "ValueError", "the rank is %d, the map is for rank %d, 1 to %d", rank,
                 spec.rank, kMaxMapRank);
}

/*!
 * \brief Works out the memory of a map: its own `global_dim`, else a tensor's shape and strides.
 * \param tensor May be null where the map has its own dimensions and its type.
 */
inline bool DescribeMemory(const TensorMapSpec& spec, const DLTensor* tensor, void* address,
                           TensorMapMemory* out, TensorMapProblem* problem) {
  const bool is_own = spec.num_global_dims != 0;
  const int rank = is_own ? spec.num_global_dims : tensor->ndim, inner = rank - 1;
  const int64_t given = tensor == nullptr ? 0 : tensor->dtype.bits * tensor->dtype.lanes;
  const bool from_tensor = spec.type == TensorMapType::kFromTensor;
  out->address = address;
  out->rank = rank;
  out->type = from_tensor ? MapTypeOf(tensor->dtype) : spec.type;
  if (!IsMapRank(spec, rank, problem)) return false;
  if (out->type == TensorMapType::kFromTensor) {
    return FailMap(problem, "TypeError",
                   "tensor maps have no data type for elements of DLPack code %d, %d bits and %d "
                   "lanes: name one of that size, such as uint%ld",
                   tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes, given);
  }
  const TensorMapTypeFacts& facts = FactsOf(out->type);
  const int64_t held = is_own ? facts.bits : given;
  // Values of 4 and 6 bits come in bytes, too, since few frameworks have such types.
  if (held != facts.bits && (facts.bits >= 8 || held != 8)) {
    return FailMap(problem, "TypeError", "data type %s has %d bits, the tensor's elements have %ld",
                   facts.name, facts.bits, held);
  }
  const int64_t align = MapAlignment(spec, out->type);
  int64_t compact = 1;  // elements
  for (int i = inner; i >= 0; --i) {
    const int64_t size = is_own ? spec.global_dim[i] : tensor->shape[i];
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
    if (is_own && spec.num_global_strides != 0) {
      out->strides[i] = i == inner ? 0 : spec.global_strides[i];
    } else if (size == 1 && (!is_own || bits % (8 * align) != 0)) {
      out->strides[i] = align;  // of one element any that the driver takes
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
bool FailEncoding(const TensorMapSpec& spec, const TensorMapMemory& memory, const Status& status,
                  TensorMapProblem* problem);

/*! \brief Makes a map of memory in the current context; the driver's order is made here. */
inline bool EncodeTensorMap(const TensorMapSpec& spec, const TensorMapMemory& memory,
                            CUtensorMap* out, TensorMapProblem* problem) {
  const int rank = memory.rank, inner = rank - 1;
  cuuint64_t dims[kMaxMapRank], strides[kMaxMapRank] = {};
  cuuint32_t box[kMaxMapRank], steps[kMaxMapRank] = {1, 1, 1, 1, 1};
  int lower[kMaxMapRank], upper[kMaxMapRank];
  if (!IsMapRank(spec, rank, problem)) return false;
  if (spec.num_element_strides != 0 && spec.num_element_strides != rank) {
    return FailMap(problem, "ValueError", "element_strides has %d dimensions, wanted %d",
                   spec.num_element_strides, rank);
  }
  if (memory.address == nullptr) {
    return FailMap(problem, "ValueError", "there is no data: the address is null");
  }
  // In 32 bits, one that the driver refuses where it does not fit.
  const auto number = [](int64_t value) {
    return value == static_cast<int>(value) ? static_cast<int>(value) : INT32_MAX;
  };
  for (int i = 0; i < rank; ++i) {
    dims[i] = static_cast<cuuint64_t>(memory.shape[inner - i]);
    if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(memory.strides[inner - i]);
    box[i] = static_cast<cuuint32_t>(number(spec.box_dim[inner - i]));
    if (spec.num_element_strides != 0) {
      steps[i] = static_cast<cuuint32_t>(number(spec.element_strides[inner - i]));
    }
  }
  for (int i = 0; i < rank - 2; ++i) {
    lower[i] = number(spec.lower_corner[rank - 3 - i]);
    upper[i] = number(spec.upper_corner[rank - 3 - i]);
  }
  // The driver would ignore the innermost step.
  if (steps[0] != 1 && spec.interleave == TensorMapInterleave::kNone) {
    return FailMap(problem, "ValueError",
                   "element_strides[%d], of the innermost dimension, is %u, wanted 1", inner,
                   steps[0]);
  }
  const auto type = static_cast<CUtensorMapDataType>(memory.type);
  const auto interleave = static_cast<CUtensorMapInterleave>(spec.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(spec.swizzle);
  const auto promotion = static_cast<CUtensorMapL2promotion>(spec.l2_promotion);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(spec.oob_fill);
  const auto num_dims = static_cast<cuuint32_t>(rank);
  Status status;
  if (spec.mode == TensorMapMode::kTiled) {
    status.call = "cuTensorMapEncodeTiled";
    status.result =
        entry::cuTensorMapEncodeTiled(out, type, num_dims, memory.address, dims, strides, box,
                                      steps, interleave, swizzle, promotion, fill);
  } else {
    status.call = "cuTensorMapEncodeIm2col";
    status.result = entry::cuTensorMapEncodeIm2col(
        out, type, num_dims, memory.address, dims, strides, lower, upper,
        static_cast<cuuint32_t>(number(spec.channels_per_pixel)),
        static_cast<cuuint32_t>(number(spec.pixels_per_column)), steps, interleave, swizzle,
        promotion, fill);
  }
  if (__builtin_expect(!status.ok(), 0)) return FailEncoding(spec, memory, status, problem);
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

TVMFFI_CUBIN_COLD bool FailEncoding(const TensorMapSpec& spec, const TensorMapMemory& memory,
                                    const Status& status, TensorMapProblem* problem) {
  static constexpr const char* kSwizzles[] = {
      "none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"};
  static constexpr const char* kInterleaves[] = {"none", "16B", "32B"};
  const TensorMapTypeFacts& facts = FactsOf(memory.type);
  const int swizzle = static_cast<int>(spec.swizzle), inner = memory.rank - 1;
  const bool is_tiled = spec.mode == TensorMapMode::kTiled, is_own = spec.num_global_dims != 0;
  const bool is_plain = spec.interleave == TensorMapInterleave::kNone;
  const int64_t align = MapAlignment(spec, memory.type);
  char modes[128];
  snprintf(modes, sizeof(modes), "(%s, swizzle '%s', interleave '%s')", facts.name,
           kSwizzles[swizzle], kInterleaves[static_cast<int>(spec.interleave)]);
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
        (i != inner && is_off(spec.num_global_strides != 0 ? "global_strides" : "stride", i,
                              memory.strides[i], 0, (INT64_C(1) << 40) - align, align)) ||
        (i != inner && is_tiled && is_off("box_dim", i, spec.box_dim[i], 1, 256)) ||
        (spec.num_element_strides != 0 &&
         is_off("element_strides", i, spec.element_strides[i], 1, 8))) {
      return false;
    }
  }
  // Along the innermost dimension whole 16 bytes, within what a swizzle permutes.
  const int permuted = swizzle > 3 ? 128 : 16 << swizzle;  // bytes
  const int64_t span = is_plain && swizzle != 0 ? permuted * 8 / facts.bits : 256;
  const bool is_whole = facts.inner_factor == 128;
  const bool is_free = is_whole || spec.interleave == TensorMapInterleave::k32B;
  if (is_off(is_tiled ? "box_dim" : "channels_per_pixel", is_tiled ? inner : 0,
             is_tiled ? spec.box_dim[inner] : spec.channels_per_pixel, is_whole ? 128 : 1,
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
  const bool is_new = spec.swizzle > TensorMapSwizzle::k128B || facts.bits < 8;
  return FailMap(problem, "LaunchError", "%s %s%s", call, modes,
                 arch < 90 ? ". Tensor maps need a device of compute capability 9.0"
                 : arch < 100 && is_new
                     ? ". Packed data types and '128B_atom_*' swizzles need a device of compute "
                       "capability 10.0, and a driver of CUDA 12.8"
                     : "");
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END
