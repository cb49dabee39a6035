// Checks arguments and stores them as the kernel's own types. A check costs a few instructions and
// returns a `Problem`; messages are composed only for an error.
#pragma once

#include <math.h>

#include "../core/device.h"
#include "error.h"

TVMFFI_CUBIN_BEGIN

// One converted argument of a call, or the value of an expression.
struct Argument {
  void* address;           // of the value that the driver copies
  const DLTensor* tensor;  // if the argument is one
  union {
    void* pointer;
    int64_t i64;  // what expressions read
    uint64_t u64;
    double f64;
    float f32;
    uint16_t u16;
  } storage;
};

// Whether an integer type of this size can hold a value; a raw one may be signed or unsigned.
inline bool IntegerFits(Kind kind, uint32_t size, int64_t value) {
  if (size >= 8) return kind != Kind::kUint || value >= 0;
  const int bits = static_cast<int>(size) * 8;
  const int64_t least = kind == Kind::kUint ? 0 : -(INT64_C(1) << (bits - 1));
  return value >= least && value >> (kind == Kind::kInt ? bits - 1 : bits) <= 0;
}

// Rounds to nearest even in a 16-bit format, (5, 10) for fp16, (8, 7) for bf16; false if a finite
// value would become infinite. Takes a double: going through float could round twice.
inline bool RoundTo16(double value, int exponent_bits, int mantissa_bits, uint16_t* out) {
  const int least = 2 - (1 << (exponent_bits - 1));  // exponent of the smallest normal number
  const int infinity = ((1 << exponent_bits) - 1) << mantissa_bits;
  int exponent = 0, bits = infinity | (value != value) << (mantissa_bits - 1);
  if (__builtin_isfinite(value)) {
    frexp(value, &exponent);
    exponent = value == 0 || exponent - 1 < least ? least : exponent - 1;
    // In units of the last bit: adding 2**52 rounds a double to an integer.
    const double units = ldexp(__builtin_fabs(value), mantissa_bits - exponent) + 0x1p52 - 0x1p52;
    // A mantissa's leading bit, and the carry from rounding, go into the exponent.
    bits = ((exponent - least) << mantissa_bits) + static_cast<int>(units);
    if (bits >= infinity) return false;
  }
  *out = static_cast<uint16_t>(bits | (__builtin_signbit(value) ? 0x8000 : 0));
  return true;
}

// Stores a number in a floating-point parameter; false if a finite value becomes inf.
inline bool StoreFloat(Kind kind, uint32_t size, double value, Argument* out) {
  if (size == 8) {
    out->storage.f64 = value;
    return true;
  }
  if (size == 4) {
    out->storage.f32 = static_cast<float>(value);
    return !__builtin_isinf(out->storage.f32) || __builtin_isinf(value);
  }
  return kind == Kind::kBfloat ? RoundTo16(value, 8, 7, &out->storage.u16)
                               : RoundTo16(value, 5, 10, &out->storage.u16);
}

// Checks an integer against what the kernel was compiled to assume about it.
inline Problem CheckAssumed(const Param& param, int64_t value) {
  if (param.assumed == Param::kNothing) return Problem::kNone;
  if (param.assumed == Param::kValue) {
    return value == param.value ? Problem::kNone : Problem::kValue;
  }
  // The low bits decide for negative numbers, too.
  return (value & (param.align - 1)) == 0 ? Problem::kNone : Problem::kMultiple;
}

// An integer beyond int64, which may fit in a uint64 but not in an expression.
TVMFFI_CUBIN_SHARED Problem ConvertBigInt(const Param& param, const TVMFFIAny& any, Argument* out) {
  const TVMFFIByteArray content = TVMFFIBigIntGetContentByteArray(&any);
  const bool is_unsigned = param.kind == Kind::kUint || param.kind == Kind::kRaw;
  const bool may_fit = is_unsigned && param.size == 8 && !param.in_expression;
  uint64_t words[2] = {0, 1};
  if (content.size == sizeof(words)) memcpy(words, content.data, sizeof(words));
  if (!may_fit || words[1] != 0) return Problem::kRange;
  out->storage.u64 = words[0];
  return CheckAssumed(param, out->storage.i64);
}

// A by-value struct: bytes of exactly its size; for a tensor map also its address.
TVMFFI_CUBIN_SHARED Problem ConvertBytes(const Param& param, const TVMFFIAny& any, Argument* out) {
  const TVMFFIByteArray content = BytesIn(any);
  if (content.data != nullptr) {
    out->address = const_cast<char*>(content.data);
    return content.size == param.size ? Problem::kNone : Problem::kSize;
  }
  out->address = any.v_ptr;
  // The driver reads a map from the host.
  const bool is_map = param.kind == Kind::kMap && any.type_index == kTVMFFIOpaquePtr &&
                      any.v_ptr != nullptr && MemoryTypeOf(any.v_ptr) != CU_MEMORYTYPE_DEVICE;
  return is_map ? Problem::kNone : Problem::kType;
}

inline Problem ConvertInteger(const Param& param, const TVMFFIAny& any, Argument* out) {
  if (any.type_index == kBigInt) return ConvertBigInt(param, any, out);
  if (any.type_index != kTVMFFIInt && any.type_index != kTVMFFIBool) return Problem::kType;
  if (!IntegerFits(param.kind, param.size, any.v_int64)) return Problem::kRange;
  // Little-endian: the low bytes of the word are the value in every width.
  out->storage.i64 = any.v_int64;
  return CheckAssumed(param, any.v_int64);
}

// Numbers and booleans, by the rules of docs/guide.md ("What a parameter takes").
inline Problem ConvertScalar(const Param& param, const TVMFFIAny& any, Argument* out) {
  if (param.kind == Kind::kBool && any.type_index != kTVMFFIBool) return Problem::kType;
  if (param.kind == Kind::kFloat || param.kind == Kind::kBfloat) {
    const bool is_float = any.type_index == kTVMFFIFloat;
    if (!is_float && any.type_index != kTVMFFIInt) return Problem::kType;
    const double value = is_float ? any.v_float64 : static_cast<double>(any.v_int64);
    return StoreFloat(param.kind, param.size, value, out) ? Problem::kNone : Problem::kRange;
  }
  return ConvertInteger(param, any, out);
}

inline bool IsEmpty(const DLTensor& tensor) {
  for (int i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return true;
  }
  return false;
}

// Whether a tensor is row-major without gaps; dimensions of size 1 may have any stride.
inline bool IsContiguous(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  uint64_t expected = 1;  // wraps around if a broadcast tensor is larger than any memory
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && static_cast<uint64_t>(tensor.strides[i]) != expected) {
      return IsEmpty(tensor);  // an empty tensor is contiguous
    }
    expected *= static_cast<uint64_t>(tensor.shape[i]);
  }
  return true;
}

inline bool IsWantedDType(const Param& param, const DLTensor& tensor) {
  for (int i = 0; i < param.num_dtypes; ++i) {
    if (memcmp(&tensor.dtype, &param.dtypes[i], sizeof(DLDataType)) == 0) return true;
  }
  return param.num_dtypes == 0;
}

// A tensor for a pointer parameter, wherever it lives.
inline Problem ConvertTensor(const Param& param, const DLTensor& tensor, Argument* out) {
  if (!IsWantedDType(param, tensor)) return Problem::kDType;
  if (param.rank >= 0 ? tensor.ndim != param.rank : tensor.ndim < param.min_rank) {
    return Problem::kRank;
  }
  if (!param.strided && !IsContiguous(tensor)) return Problem::kContiguous;
  out->tensor = &tensor;
  out->storage.pointer = DataOf(tensor);
  const bool is_aligned = (out->storage.u64 & (param.align - 1)) == 0;
  return is_aligned || IsEmpty(tensor) ? Problem::kNone : Problem::kMultiple;
}

// A tensor, None (null) or a raw address (ctypes.c_void_p) for a pointer parameter.
inline Problem ConvertPointer(const Param& param, const TVMFFIAny& any, Argument* out) {
  if (const DLTensor* tensor = AsTensor(any)) return ConvertTensor(param, *tensor, out);
  const bool is_none = any.type_index == kTVMFFINone;
  if (!is_none && any.type_index != kTVMFFIOpaquePtr) return Problem::kType;
  if (param.in_expression || param.rank >= 0) return Problem::kType;
  out->storage.pointer = is_none ? nullptr : any.v_ptr;
  return (out->storage.u64 & (param.align - 1)) == 0 ? Problem::kNone : Problem::kMultiple;
}

// Anything of the parameter's size; only an integer if an expression reads it.
TVMFFI_CUBIN_SHARED Problem ConvertRaw(const Param& param, const TVMFFIAny& any, Argument* out) {
  const bool is_word = param.size - 1 < 8 && (param.size & (param.size - 1)) == 0;
  const Problem misfit = is_word ? ConvertInteger(param, any, out) : Problem::kType;
  if (misfit != Problem::kType || param.in_expression) return misfit;
  // A 2-byte parameter may be fp16 or bf16.
  if (any.type_index == kTVMFFIFloat && is_word && param.size >= 4) {
    const bool fits = StoreFloat(Kind::kFloat, param.size, any.v_float64, out);
    return fits ? Problem::kNone : Problem::kRange;
  }
  if (param.size == sizeof(void*)) {
    const Problem problem = ConvertPointer(param, any, out);
    if (problem != Problem::kType) return problem;
  }
  return ConvertBytes(param, any, out);
}

// Takes the device from a call's first tensor; false for a tensor elsewhere.
TVMFFI_CUBIN_SHARED bool TakeDevice(const DLTensor& tensor, int* device) {
  const int id = tensor.device.device_id;
  if (tensor.device.device_type != kDLCUDA) return IsHostMemoryForKernels(tensor);
  if (*device >= 0 || id < 0 || id >= kMaxDevices) return false;
  *device = id;
  return true;
}

// Whether a tensor is on the same device as those before it; -1: there are none.
inline bool IsOnDevice(const DLTensor& tensor, int* device) {
  const bool is_same =
      tensor.device.device_type == kDLCUDA && tensor.device.device_id == *device && *device >= 0;
  return __builtin_expect(is_same, 1) || TakeDevice(tensor, device);
}

// Converts one argument, or returns why it does not fit the parameter.
TVMFFI_CUBIN_HOT Problem Convert(const Param& param, const TVMFFIAny& any, int* device,
                                 Argument* out) {
  out->address = &out->storage;
  out->tensor = nullptr;
  const Problem problem = param.kind == Kind::kPointer ? ConvertPointer(param, any, out)
                          : param.kind < Kind::kBytes  ? ConvertScalar(param, any, out)
                          : param.kind == Kind::kRaw   ? ConvertRaw(param, any, out)
                                                       : ConvertBytes(param, any, out);
  if (__builtin_expect(problem != Problem::kNone, 0)) return problem;
  return out->tensor == nullptr || IsOnDevice(*out->tensor, device) ? problem : Problem::kDevice;
}

TVMFFI_CUBIN_END
