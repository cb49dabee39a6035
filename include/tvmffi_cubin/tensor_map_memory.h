/*!
 * \file tvmffi_cubin/tensor_map_memory.h
 * \brief A tensor as the memory that a tensor map describes: address, type, shape, strides.
 */
#ifndef TVMFFI_CUBIN_TENSOR_MAP_MEMORY_H_
#define TVMFFI_CUBIN_TENSOR_MAP_MEMORY_H_

#include <stdarg.h>
#include <stdio.h>
#include <tvm/ffi/c_api.h>

#include "cold.h"
#include "tensor_map_spec.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Writes a problem's printf-formatted text; returns false. */
__attribute__((cold, format(printf, 3, 4))) bool FailMap(TensorMapProblem* problem,
                                                         const char* kind, const char* format, ...);

/*! \brief Whether all modes are enumerators: names and sizes are looked up by them. */
bool CheckMapEnums(const TensorMapSpec& spec, TensorMapProblem* problem);

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

TVMFFI_CUBIN_COLD bool CheckMapEnums(const TensorMapSpec& spec, TensorMapProblem* problem) {
  const struct {
    const char* name;
    int value, least, count;
  } rows[] = {
      {"Type", static_cast<int>(spec.type), -1, CountOf(kTensorMapTypes)},
      {"Swizzle", static_cast<int>(spec.swizzle), 0, CountOf(kTensorMapSwizzles)},
      {"Interleave", static_cast<int>(spec.interleave), 0, CountOf(kTensorMapInterleaves)},
      {"L2Promotion", static_cast<int>(spec.l2_promotion), 0, CountOf(kTensorMapL2Promotions)},
      {"OobFill", static_cast<int>(spec.oob_fill), 0, CountOf(kTensorMapOobFills)},
  };
  for (const auto& row : rows) {
    if (row.value >= row.least && row.value < row.count) continue;
    return FailMap(problem, "ValueError", "there is no TensorMap%s %d", row.name, row.value);
  }
  return true;
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
  if (!CheckMapEnums(spec, problem)) return false;
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

#endif  // TVMFFI_CUBIN_TENSOR_MAP_MEMORY_H_
