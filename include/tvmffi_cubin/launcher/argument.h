/*!
 * \file tvmffi_cubin/launcher/argument.h
 * \brief Scalar, boolean and by-value arguments: checked and stored as the kernel's own type.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_ARGUMENT_H_
#define TVMFFI_CUBIN_LAUNCHER_ARGUMENT_H_

#include <string.h>

#include "error.h"
#include "narrow.h"
#include "plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Where an error happened: function, parameter, position from 1. */
struct Place {
  const char* function;
  const Param* param;
  int position;
};

/*! \brief Raises "f: argument 2 (n: int): got ..., wanted ..." */
__attribute__((noinline, cold)) inline int FailType(const Place& place, const TVMFFIAny& any,
                                                    const char* wanted) {
  return Fail("TypeError", "%s: argument %d (%s: %s): got %s, wanted %s", place.function,
              place.position, place.param->name, place.param->type, DescribeArgument(any).chars,
              wanted);
}

/*! \brief Raises a ValueError with the same opening. */
__attribute__((noinline, cold)) inline int FailRange(const Place& place, const TVMFFIAny& any) {
  const Param& param = *place.param;
  if (param.kind != Kind::kInt && param.kind != Kind::kUint) {
    return Fail("ValueError", "%s: argument %d (%s: %s): %s is out of range: it would become inf",
                place.function, place.position, param.name, param.type,
                DescribeArgument(any).chars);
  }
  const bool is_signed = param.kind == Kind::kInt;
  const int bits = static_cast<int>(param.size) * 8;
  const long long low = is_signed ? -(1LL << (bits - 2)) * 2 : 0;
  const unsigned long long high = ~0ULL >> (64 - bits + (is_signed ? 1 : 0));
  return Fail("ValueError", "%s: argument %d (%s: %s): %s is out of range %lld to %llu",
              place.function, place.position, param.name, param.type, DescribeArgument(any).chars,
              low, high);
}

/*! \brief An integer beyond int64: a uint64, or a double for floating parameters. */
__attribute__((noinline)) inline int ConvertBigInt(const Place& place, const TVMFFIAny& any,
                                                   Argument* out) {
  const Param& param = *place.param;
  const TVMFFIByteArray content = TVMFFIBigIntGetContentByteArray(&any);
  const size_t words = content.size / sizeof(uint64_t);
  uint64_t word = 0;
  if (param.kind == Kind::kUint && param.size == 8 && words == 2) {
    memcpy(&word, content.data + sizeof(word), sizeof(word));
    if (word != 0) return FailRange(place, any);
    if (param.in_expression) {
      return Fail("ValueError",
                  "%s: argument %d (%s: %s): an expression reads it and cannot hold "
                  "values above 9223372036854775807",
                  place.function, place.position, param.name, param.type);
    }
    memcpy(&out->storage.u64, content.data, sizeof(word));
    return 0;
  }
  if (param.kind != Kind::kFloat && param.kind != Kind::kBfloat) return FailRange(place, any);
  double value = 0;
  for (size_t i = words; i-- > 0;) {
    memcpy(&word, content.data + i * sizeof(word), sizeof(word));
    const double digit = i + 1 == words ? static_cast<double>(static_cast<int64_t>(word))
                                        : static_cast<double>(word);
    value = value * 18446744073709551616.0 + digit;
  }
  if (__builtin_isinf(value) || !StoreFloat(param.kind, param.size, value, out)) {
    return FailRange(place, any);
  }
  return 0;
}

/*! \brief Content of a bytes argument, in whichever form tvm-ffi carries it. */
inline bool AsBytes(const TVMFFIAny& any, TVMFFIByteArray* out) {
  if (any.type_index == kTVMFFIBytes) {
    *out = *TVMFFIBytesGetByteArrayPtr(any.v_obj);
  } else if (any.type_index == kTVMFFIByteArrayPtr) {
    *out = *static_cast<const TVMFFIByteArray*>(any.v_ptr);
  } else if (any.type_index == kTVMFFISmallBytes) {
    *out = TVMFFISmallBytesGetContentByteArray(&any);
  } else {
    return false;
  }
  return true;
}

/*! \brief A by-value struct: bytes of exactly its size. */
__attribute__((noinline)) inline int ConvertBytes(const Place& place, const TVMFFIAny& any,
                                                  Argument* out) {
  TVMFFIByteArray content;
  if (!AsBytes(any, &content)) return FailType(place, any, "bytes of the struct's own layout");
  if (content.size != place.param->size) {
    return Fail("ValueError",
                "%s: argument %d (%s: %s): got %zu bytes, wanted %u, the struct's size",
                place.function, place.position, place.param->name, place.param->type, content.size,
                place.param->size);
  }
  out->address = const_cast<char*>(content.data);
  return 0;
}

/*! \brief Numbers and booleans, by the rules of docs/guide.md ("What a parameter takes"). */
inline int ConvertScalar(const Place& place, const TVMFFIAny& any, Argument* out) {
  const Param& param = *place.param;
  switch (param.kind) {
    case Kind::kBool:
      if (any.type_index != kTVMFFIBool) return FailType(place, any, "a bool");
      out->storage.u8 = any.v_int64 != 0;
      return 0;
    case Kind::kFloat:
    case Kind::kBfloat: {
      if (any.type_index == kTVMFFIBigInt) return ConvertBigInt(place, any, out);
      const bool is_float = any.type_index == kTVMFFIFloat;
      if (!is_float && any.type_index != kTVMFFIInt) return FailType(place, any, "a number");
      const double value = is_float ? any.v_float64 : static_cast<double>(any.v_int64);
      return StoreFloat(param.kind, param.size, value, out) ? 0 : FailRange(place, any);
    }
    default:
      break;
  }
  if (any.type_index == kTVMFFIBigInt) return ConvertBigInt(place, any, out);
  if (any.type_index != kTVMFFIInt && any.type_index != kTVMFFIBool) {
    return FailType(place, any, "an int");
  }
  if (!IntegerFits(param.kind, param.size, any.v_int64)) return FailRange(place, any);
  // Little-endian: the low bytes of the word are the value in every width.
  out->storage.i64 = out->integer = any.v_int64;
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_ARGUMENT_H_
