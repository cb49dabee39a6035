/*!
 * \file tvmffi_cubin/core/tensor_map_check.h
 * \brief A tensor as the memory that a tensor map describes, and whether the driver takes that map.
 */
#ifndef TVMFFI_CUBIN_CORE_TENSOR_MAP_CHECK_H_
#define TVMFFI_CUBIN_CORE_TENSOR_MAP_CHECK_H_

#include <stdarg.h>
#include <stdio.h>
#include <tvm/ffi/c_api.h>

#include "tensor_map_spec.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Writes a problem's printf-formatted text; returns false. */
__attribute__((cold, format(printf, 3, 4))) bool FailMap(TensorMapProblem* problem,
                                                         const char* kind, const char* format, ...);

/*! \brief Whether a map is for tensors of a rank. */
bool CheckMapRank(const TensorMapSpec& spec, int32_t rank, TensorMapProblem* problem);

/*! \brief The type of maps that goes with a tensor's; kFromTensor where there is none. */
inline TensorMapType MapTypeOf(DLDataType dtype) {
  const int bits = dtype.bits * dtype.lanes;
  switch (dtype.code) {
    case kDLFloat4_e2m1fn:  // torch has two in a byte: lanes
      return TensorMapType::k16U4Align8B;
    case kDLFloat6_e2m3fn:
    case kDLFloat6_e3m2fn:
      return TensorMapType::k16U6Align16B;
    default:
      break;
  }
  if (dtype.lanes != 1) return TensorMapType::kFromTensor;
  switch (dtype.code) {
    case kDLInt:
    case kDLUInt:
      if (bits == 8) return TensorMapType::kUint8;
      if (bits == 16) return TensorMapType::kUint16;
      if (bits == 32) return dtype.code == kDLInt ? TensorMapType::kInt32 : TensorMapType::kUint32;
      if (bits == 64) return dtype.code == kDLInt ? TensorMapType::kInt64 : TensorMapType::kUint64;
      return TensorMapType::kFromTensor;
    case kDLFloat:
      if (bits == 16) return TensorMapType::kFloat16;
      if (bits == 32) return TensorMapType::kFloat32;
      return bits == 64 ? TensorMapType::kFloat64 : TensorMapType::kFromTensor;
    case kDLBfloat:
      return bits == 16 ? TensorMapType::kBfloat16 : TensorMapType::kFromTensor;
    default:  // a bool and each kind of float8 is a byte
      return bits == 8 ? TensorMapType::kUint8 : TensorMapType::kFromTensor;
  }
}

/*! \brief A tensor's stride in elements; DLPack leaves out those of a compact one. */
inline bool ElementStride(const DLTensor& tensor, int dimension, int64_t* out) {
  if (tensor.strides != nullptr) {
    *out = tensor.strides[dimension];
    return true;
  }
  *out = 1;
  for (int i = tensor.ndim - 1; i > dimension; --i) {
    if (__builtin_mul_overflow(*out, tensor.shape[i], out)) return false;
  }
  return true;
}

/*! \brief One stride in bytes; where the dimension has one element, any that the driver takes. */
inline bool ByteStride(const DLTensor& tensor, int dimension, int64_t align, int64_t* out,
                       TensorMapProblem* problem) {
  const int64_t bits = tensor.dtype.bits * tensor.dtype.lanes;
  int64_t elements = 0, total = 0;
  if (tensor.shape[dimension] == 1) {
    *out = align;
    return true;
  }
  if (!ElementStride(tensor, dimension, &elements)) {
    return FailMap(problem, "ValueError", "stride[%d] is 2**63 elements or more", dimension);
  }
  const bool overflows = __builtin_mul_overflow(elements, bits, &total);
  if (overflows || total % 8 != 0) {
    return FailMap(problem, "ValueError", "stride[%d] is %lld elements of %lld bits, %s", dimension,
                   static_cast<long long>(elements), static_cast<long long>(bits),
                   overflows ? "the driver takes 0 to below 2**40 bytes" : "no whole bytes");
  }
  *out = total / 8;
  return true;
}

/*! \brief The map's type, checked against the tensor's. */
bool ResolveMapType(const TensorMapSpec& spec, const DLTensor& tensor, TensorMapType* out,
                    TensorMapProblem* problem);

/*!
 * \brief Works out the memory that a tensor is; what the driver asks of it is another question
 * (CheckTensorMap).
 */
inline bool DescribeMemory(const TensorMapSpec& spec, const DLTensor& tensor, TensorMapMemory* out,
                           TensorMapProblem* problem) {
  if (!CheckMapRank(spec, tensor.ndim, problem)) return false;
  if (!ResolveMapType(spec, tensor, &out->type, problem)) return false;
  const int inner = tensor.ndim - 1;
  const int64_t align = MapAlignment(out->type, spec.interleave);
  out->address =
      reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset);
  out->rank = tensor.ndim;
  for (int i = 0; i < tensor.ndim; ++i) {
    out->shape[i] = tensor.shape[i];
    if (i != inner && !ByteStride(tensor, i, align, &out->strides[i], problem)) return false;
  }
  if (tensor.shape[inner] != 1 && tensor.strides != nullptr && tensor.strides[inner] != 1) {
    return FailMap(problem, "ValueError",
                   "stride[%d], of the innermost dimension, is %lld elements, wanted 1", inner,
                   static_cast<long long>(tensor.strides[inner]));
  }
  const int64_t held = tensor.dtype.bits * tensor.dtype.lanes;
  const int64_t bits = FactsOf(out->type).bits;
  int64_t total = 0;
  if (held != bits &&
      (__builtin_mul_overflow(tensor.shape[inner], held, &total) || total % bits != 0)) {
    return FailMap(problem, "ValueError",
                   "shape[%d] is %lld elements of %lld bits, no whole number of %lld-bit values",
                   inner, static_cast<long long>(tensor.shape[inner]), static_cast<long long>(held),
                   static_cast<long long>(bits));
  }
  if (held != bits) out->shape[inner] = total / bits;
  out->strides[inner] = bits / 8;
  return true;
}

/*! \brief One number that has to lie in a range: "box_dim[1] is 300, the driver takes 1 to 256". */
inline bool CheckMapRange(const char* what, int index, int64_t value, int64_t least, int64_t most,
                          TensorMapProblem* problem) {
  if (__builtin_expect(value >= least && value <= most, 1)) return true;
  char place[16] = "";
  if (index >= 0) snprintf(place, sizeof(place), "[%d]", index);
  return FailMap(problem, "ValueError", "%s%s is %lld, the driver takes %lld to %lld", what, place,
                 static_cast<long long>(value), static_cast<long long>(least),
                 static_cast<long long>(most));
}

/*! \brief Which modes go with each other. */
inline bool CheckMapModes(const TensorMapSpec& spec, const TensorMapMemory& memory,
                          TensorMapProblem* problem) {
  const TensorMapTypeFacts& facts = FactsOf(memory.type);
  const char* swizzle = kTensorMapSwizzles[static_cast<int>(spec.swizzle)];
  if (spec.oob_fill == TensorMapOobFill::kNan && !facts.is_float) {
    return FailMap(problem, "ValueError",
                   "oob_fill is 'nan', the data type %s: only floating types have one", facts.name);
  }
  if (spec.interleave == TensorMapInterleave::k32B && spec.swizzle != TensorMapSwizzle::k32B) {
    return FailMap(problem, "ValueError",
                   "swizzle is '%s', CUDA's documentation allows '32B' alone with interleave '32B'",
                   swizzle);
  }
  if (memory.type != TensorMapType::k16U4Align16B && memory.type != TensorMapType::k16U6Align16B) {
    return true;
  }
  const bool six = memory.type == TensorMapType::k16U6Align16B;
  if (six && spec.interleave != TensorMapInterleave::kNone) {
    return FailMap(problem, "ValueError", "interleave is '%s', data type %s takes 'none' alone",
                   kTensorMapInterleaves[static_cast<int>(spec.interleave)], facts.name);
  }
  switch (spec.swizzle) {
    case TensorMapSwizzle::kNone:
    case TensorMapSwizzle::k128B:
    case TensorMapSwizzle::k128BAtom32B:
      return true;
    default:
      break;
  }
  if (six && spec.swizzle == TensorMapSwizzle::k128BAtom64B) return true;
  return FailMap(problem, "ValueError",
                 "swizzle is '%s', data type %s takes 'none', '128B' and '128B_atom_32B'%s",
                 swizzle, facts.name, six ? " (and, to store alone, '128B_atom_64B')" : "");
}

/*! \brief Address, shape and strides. */
inline bool CheckMapMemory(const TensorMapSpec& spec, const TensorMapMemory& memory,
                           TensorMapProblem* problem) {
  const TensorMapTypeFacts& facts = FactsOf(memory.type);
  const int64_t align = MapAlignment(memory.type, spec.interleave);
  const int inner = memory.rank - 1;
  if (reinterpret_cast<uintptr_t>(memory.address) % static_cast<uintptr_t>(align) != 0) {
    return FailMap(problem, "ValueError",
                   "the data lies at %p, wanted an address that is a multiple of %lld",
                   memory.address, static_cast<long long>(align));
  }
  for (int i = 0; i < memory.rank; ++i) {
    if (!CheckMapRange(DimensionName(spec), i, memory.shape[i], 1, INT64_C(1) << 32, problem)) {
      return false;
    }
  }
  if (memory.shape[inner] % facts.inner_factor != 0) {
    return FailMap(problem, "ValueError", "%s[%d] is %lld, data type %s takes multiples of %d",
                   DimensionName(spec), inner, static_cast<long long>(memory.shape[inner]),
                   facts.name, facts.inner_factor);
  }
  for (int i = 0; i < inner; ++i) {
    if (memory.strides[i] >= 0 && memory.strides[i] % align == 0 &&
        memory.strides[i] < (INT64_C(1) << 40)) {
      continue;
    }
    return FailMap(problem, "ValueError",
                   "%s[%d] is %lld bytes, the driver takes multiples of %lld from 0 to below "
                   "2**40",
                   StrideName(spec), i, static_cast<long long>(memory.strides[i]),
                   static_cast<long long>(align));
  }
  return true;
}

/*! \brief The part of a box, or of a pixel, along the innermost dimension. */
inline bool CheckMapInner(const TensorMapSpec& spec, TensorMapType type, const char* what,
                          int index, int64_t elements, TensorMapProblem* problem) {
  const TensorMapTypeFacts& facts = FactsOf(type);
  if (!CheckMapRange(what, index, elements, 1, 256, problem)) return false;
  char name[40];
  snprintf(name, sizeof(name), index >= 0 ? "%s[%d]" : "%s", what, index);
  if (facts.inner_factor == 128 && elements != 128) {
    return FailMap(problem, "ValueError", "%s is %lld, data type %s takes 128 alone", name,
                   static_cast<long long>(elements), facts.name);
  }
  // CUDA's documentation has this for interleave 'none' alone, driver 580 for '16B', too.
  if (spec.interleave == TensorMapInterleave::k32B) return true;
  const int64_t bits = elements * facts.bits;
  if (bits % 128 != 0) {
    return FailMap(problem, "ValueError",
                   "%s is %lld elements of %s, %lld bits, wanted a multiple of 128, 16 bytes", name,
                   static_cast<long long>(elements), facts.name, static_cast<long long>(bits));
  }
  const int64_t span = SwizzleSpan(spec.swizzle);
  if (spec.interleave != TensorMapInterleave::kNone || span == 0 || bits / 8 <= span) return true;
  return FailMap(problem, "ValueError",
                 "%s is %lld elements of %s, %lld bytes, swizzle '%s' takes at most %lld", name,
                 static_cast<long long>(elements), facts.name, static_cast<long long>(bits / 8),
                 kTensorMapSwizzles[static_cast<int>(spec.swizzle)], static_cast<long long>(span));
}

/*! \brief The box of a tiled map. */
inline bool CheckMapBox(const TensorMapSpec& spec, TensorMapType type, TensorMapProblem* problem) {
  for (int i = 0; i + 1 < spec.rank; ++i) {
    if (!CheckMapRange("box_dim", i, spec.box_dim[i], 1, 256, problem)) return false;
  }
  return CheckMapInner(spec, type, "box_dim", spec.rank - 1, spec.box_dim[spec.rank - 1], problem);
}

/*! \brief The corners, pixels and channels of an im2col map. */
inline bool CheckMapPixels(const TensorMapSpec& spec, const TensorMapMemory& memory,
                           TensorMapProblem* problem) {
  constexpr int64_t kLimits[] = {32768, 128, 16};  // of one, two and three dimensions
  const int64_t limit = kLimits[memory.rank - 3];
  for (int i = 0; i < memory.rank - 2; ++i) {
    const int64_t lower = spec.lower_corner[i], upper = spec.upper_corner[i];
    if (!CheckMapRange("lower_corner", i, lower, -limit, limit - 1, problem) ||
        !CheckMapRange("upper_corner", i, upper, -limit, limit - 1, problem)) {
      return false;
    }
    if (memory.shape[i + 1] + upper - lower < 1) {
      return FailMap(problem, "ValueError",
                     "lower_corner[%d] is %lld and upper_corner[%d] %lld: of the %lld elements of "
                     "%s[%d] no pixel is left",
                     i, static_cast<long long>(lower), i, static_cast<long long>(upper),
                     static_cast<long long>(memory.shape[i + 1]), DimensionName(spec), i + 1);
    }
  }
  return CheckMapRange("pixels_per_column", -1, spec.pixels_per_column, 1, 1024, problem) &&
         CheckMapInner(spec, memory.type, "channels_per_pixel", -1, spec.channels_per_pixel,
                       problem);
}

/*! \brief The shared memory that one load takes, in bytes, of a map that passed the checks. */
inline int64_t MapLoadBytes(const TensorMapSpec& spec, TensorMapType type) {
  int64_t elements = spec.channels_per_pixel * spec.pixels_per_column;
  if (spec.mode == TensorMapMode::kTiled) {
    elements = 1;
    for (int i = 0; i < spec.rank; ++i) {
      const int64_t step = spec.num_element_strides == 0 ? 1 : spec.element_strides[i];
      elements *= step == 1 ? spec.box_dim[i] : (spec.box_dim[i] + step - 1) / step;
    }
  }
  return elements * FactsOf(type).bits / 8;
}

/*! \brief Checks a map. */
inline bool CheckTensorMap(const TensorMapSpec& spec, const TensorMapMemory& memory,
                           TensorMapProblem* problem) {
  if (!CheckMapRank(spec, memory.rank, problem)) return false;
  if (memory.type < TensorMapType::kUint8 || memory.type > TensorMapType::k16U6Align16B) {
    return FailMap(problem, "ValueError", "the memory's data type is not given");
  }
  if (spec.type != TensorMapType::kFromTensor && spec.type != memory.type) {
    return FailMap(problem, "ValueError", "the options' data type is %s, the memory's %s",
                   FactsOf(spec.type).name, FactsOf(memory.type).name);
  }
  if (spec.num_element_strides != 0 && spec.num_element_strides != spec.rank) {
    return FailMap(problem, "ValueError", "element_strides has %d dimensions, wanted %d",
                   spec.num_element_strides, spec.rank);
  }
  if (!CheckMapModes(spec, memory, problem) || !CheckMapMemory(spec, memory, problem)) return false;
  for (int i = 0; i < spec.num_element_strides; ++i) {
    // The driver ignores the innermost one unless it interleaves.
    const bool fixed = i == spec.rank - 1 && spec.interleave == TensorMapInterleave::kNone;
    if (fixed && spec.element_strides[i] != 1) {
      return FailMap(problem, "ValueError",
                     "element_strides[%d], of the innermost dimension, is %lld, wanted 1", i,
                     static_cast<long long>(spec.element_strides[i]));
    }
    if (!CheckMapRange("element_strides", i, spec.element_strides[i], 1, 8, problem)) return false;
  }
  return spec.mode == TensorMapMode::kTiled ? CheckMapBox(spec, memory.type, problem)
                                            : CheckMapPixels(spec, memory, problem);
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

TVMFFI_CUBIN_COLD bool CheckMapRank(const TensorMapSpec& spec, int32_t rank,
                                    TensorMapProblem* problem) {
  const bool tiled = spec.mode == TensorMapMode::kTiled;
  const bool grouped = tiled && spec.interleave != TensorMapInterleave::kNone;
  const int least = tiled && !grouped ? 1 : 3;
  if (rank < least || rank > kMaxMapRank) {
    return FailMap(problem, "ValueError", "the rank is %d, the driver takes %d to %d%s", rank,
                   least, kMaxMapRank,
                   grouped  ? " with an interleave"
                   : !tiled ? " for im2col"
                            : "");
  }
  if (rank == spec.rank) return true;
  return FailMap(problem, "ValueError", "the rank is %d, %s for rank %d", rank,
                 tiled ? "box_dim is" : "the corners are", spec.rank);
}

TVMFFI_CUBIN_COLD bool ResolveMapType(const TensorMapSpec& spec, const DLTensor& tensor,
                                      TensorMapType* out, TensorMapProblem* problem) {
  const int held = tensor.dtype.bits * tensor.dtype.lanes;
  *out = spec.type == TensorMapType::kFromTensor ? MapTypeOf(tensor.dtype) : spec.type;
  if (*out == TensorMapType::kFromTensor) {
    return FailMap(problem, "TypeError",
                   "tensor maps have no data type for elements of DLPack code %d, %d bits and %d "
                   "lanes: name one of that size, such as uint%d",
                   tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes, held);
  }
  const TensorMapTypeFacts& facts = FactsOf(*out);
  // Values of 4 and 6 bits come in bytes, too, since few frameworks have such types.
  if (facts.bits == held || (facts.bits < 8 && held == 8)) return true;
  return FailMap(problem, "TypeError", "data type %s has %d bits, the tensor's elements have %d",
                 facts.name, facts.bits, held);
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_TENSOR_MAP_CHECK_H_
