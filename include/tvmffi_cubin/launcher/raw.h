/*!
 * \file tvmffi_cubin/launcher/raw.h
 * \brief Arguments for parameters of which the size is known and nothing else.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_RAW_H_
#define TVMFFI_CUBIN_LAUNCHER_RAW_H_

#include "tensor.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief An integer that fits a parameter of this size, signed or unsigned. */
inline Problem ConvertRawInteger(const Param& param, const TVMFFIAny& any, Argument* out) {
  if (!RawFits(param.size, any.v_int64)) {
    return IsWord(param.size) ? Problem::kRange : Problem::kType;
  }
  out->storage.i64 = out->integer = any.v_int64;
  return Problem::kNone;
}

/*! \brief A float, where its size says which. */
inline Problem ConvertRawFloat(const Param& param, const TVMFFIAny& any, Argument* out) {
  if (param.in_expression) return Problem::kType;
  if (param.size == 2) return Problem::kHalf;
  if (param.size != 4 && param.size != 8) return Problem::kType;
  return StoreFloat(Kind::kFloat, param.size, any.v_float64, out) ? Problem::kNone
                                                                  : Problem::kRange;
}

/*! \brief Whatever has the parameter's size; an integer alone where an expression reads it. */
__attribute__((noinline)) inline Problem ConvertRaw(const Param& param, const TVMFFIAny& any,
                                                    Argument* out) {
  const bool may_point = param.size == sizeof(void*) && !param.in_expression;
  switch (any.type_index) {
    case kTVMFFIInt:
    case kTVMFFIBool:
      return ConvertRawInteger(param, any, out);
    case kTVMFFIFloat:
      return ConvertRawFloat(param, any, out);
    case kTVMFFINone:
    case kTVMFFIOpaquePtr:
      if (!may_point) return Problem::kType;
      out->storage.pointer = any.type_index == kTVMFFINone ? nullptr : any.v_ptr;
      return Problem::kNone;
    case kTVMFFIBigInt: {
      Param as_unsigned = param;
      as_unsigned.kind = Kind::kUint;
      return IsWord(param.size) ? ConvertBigInt(as_unsigned, any, out) : Problem::kType;
    }
    default:
      break;
  }
  if (const DLTensor* tensor = AsTensor(any)) {
    return may_point ? ConvertTensor(param, *tensor, out) : Problem::kType;
  }
  return param.in_expression ? Problem::kType : ConvertBytes(param, any, out);
}

/*!
 * \brief Converts one argument, or says why it does not go with the parameter. Called from several
 * places, of which the compiler would inline none, and every call goes through one.
 */
__attribute__((always_inline)) inline Problem Convert(const Param& param, const TVMFFIAny& any,
                                                      Argument* out) {
  out->address = &out->storage;
  out->tensor = nullptr;
  if (param.kind == Kind::kPointer) return ConvertPointer(param, any, out);
  if (param.kind >= Kind::kBytes) {
    return param.kind == Kind::kRaw ? ConvertRaw(param, any, out) : ConvertBytes(param, any, out);
  }
  return ConvertScalar(param, any, out);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_RAW_H_
