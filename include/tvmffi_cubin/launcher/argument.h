/*!
 * \file tvmffi_cubin/launcher/argument.h
 * \brief Scalar, boolean and by-value arguments: checked and stored as the kernel's own type.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_ARGUMENT_H_
#define TVMFFI_CUBIN_LAUNCHER_ARGUMENT_H_

#include <string.h>

#include "map_handle.h"
#include "narrow.h"
#include "problem.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Whether an integer is what the kernel was compiled to assume of it. */
inline Problem CheckAssumed(const Param& param, int64_t value) {
  if (param.assumed == Param::kValue) {
    return value == param.value ? Problem::kNone : Problem::kOtherValue;
  }
  // Of a negative number, too, the low bits say it.
  return (value & (param.align - 1)) == 0 ? Problem::kNone : Problem::kNotMultiple;
}

/*! \brief An integer beyond int64: a uint64, or a double for floating parameters. */
__attribute__((noinline)) inline Problem ConvertBigInt(const Param& param, const TVMFFIAny& any,
                                                       Argument* out) {
  const TVMFFIByteArray content = TVMFFIBigIntGetContentByteArray(&any);
  const size_t words = content.size / sizeof(uint64_t);
  uint64_t word = 0;
  if (param.kind == Kind::kUint && param.size == 8 && words == 2) {
    memcpy(&word, content.data + sizeof(word), sizeof(word));
    if (word != 0) return Problem::kRange;
    memcpy(&word, content.data, sizeof(word));
    if (param.in_expression) return Problem::kBeyondExpressions;
    if (param.assumed == Param::kValue) return Problem::kOtherValue;
    if (param.assumed != Param::kNothing && (word & (param.align - 1)) != 0) {
      return Problem::kNotMultiple;
    }
    out->storage.u64 = word;
    return Problem::kNone;
  }
  if (param.kind != Kind::kFloat && param.kind != Kind::kBfloat) return Problem::kRange;
  double value = 0;
  for (size_t i = words; i-- > 0;) {
    memcpy(&word, content.data + i * sizeof(word), sizeof(word));
    const double digit = i + 1 == words ? static_cast<double>(static_cast<int64_t>(word))
                                        : static_cast<double>(word);
    value = value * 18446744073709551616.0 + digit;
  }
  if (__builtin_isinf(value) || !StoreFloat(param.kind, param.size, value, out)) {
    return Problem::kRange;
  }
  return Problem::kNone;
}

/*! \brief A by-value struct: bytes of exactly its size; of a tensor map its address will do. */
__attribute__((noinline)) inline Problem ConvertBytes(const Param& param, const TVMFFIAny& any,
                                                      Argument* out) {
  TVMFFIByteArray content;
  if (!AsBytes(any, &content)) {
    return param.kind == Kind::kMap ? ConvertMapHandle(param, any, out) : Problem::kType;
  }
  if (content.size != param.size) return Problem::kStructSize;
  out->address = const_cast<char*>(content.data);
  return Problem::kNone;
}

/*! \brief Numbers and booleans, by the rules of docs/guide.md ("What a parameter takes"). */
inline Problem ConvertScalar(const Param& param, const TVMFFIAny& any, Argument* out) {
  switch (param.kind) {
    case Kind::kBool:
      if (any.type_index != kTVMFFIBool) return Problem::kType;
      out->storage.u8 = any.v_int64 != 0;
      out->integer = out->storage.u8;
      return Problem::kNone;
    case Kind::kFloat:
    case Kind::kBfloat: {
      if (any.type_index == kTVMFFIBigInt) return ConvertBigInt(param, any, out);
      const bool is_float = any.type_index == kTVMFFIFloat;
      if (!is_float && any.type_index != kTVMFFIInt) return Problem::kType;
      const double value = is_float ? any.v_float64 : static_cast<double>(any.v_int64);
      return StoreFloat(param.kind, param.size, value, out) ? Problem::kNone : Problem::kRange;
    }
    default:
      break;
  }
  if (any.type_index == kTVMFFIBigInt) return ConvertBigInt(param, any, out);
  if (any.type_index != kTVMFFIInt && any.type_index != kTVMFFIBool) return Problem::kType;
  if (!IntegerFits(param.kind, param.size, any.v_int64)) return Problem::kRange;
  // Little-endian: the low bytes of the word are the value in every width.
  out->storage.i64 = out->integer = any.v_int64;
  if (__builtin_expect(param.assumed == Param::kNothing, 1)) return Problem::kNone;
  return CheckAssumed(param, any.v_int64);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_ARGUMENT_H_
