/*!
 * \file tvmffi_cubin/launcher/argument.h
 * \brief Arguments checked and stored as the kernel's own types: numbers, tensors, bytes.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_ARGUMENT_H_
#define TVMFFI_CUBIN_LAUNCHER_ARGUMENT_H_

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../core/device.h"
#include "error.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief One argument of a call, converted, or a value that an expression gives. */
struct Argument {
  void* address;           // of the value, what the driver copies from
  const DLTensor* tensor;  // where the argument is one
  int64_t integer;         // the value that expressions see
  union {
    void* pointer;
    int64_t i64;
    uint64_t u64;
    double f64;
    float f32;
    uint16_t u16;
    uint8_t u8;
  } storage;
};

/*! \brief Whether a signed value fits the integer type of a parameter. */
inline bool IntegerFits(Kind kind, uint32_t size, int64_t value) {
  if (size >= 8) return kind == Kind::kInt || value >= 0;
  const int bits = static_cast<int>(size) * 8;
  if (kind == Kind::kUint) return value >= 0 && (value >> bits) == 0;
  return value >= -(INT64_C(1) << (bits - 1)) && value < (INT64_C(1) << (bits - 1));
}

/*! \brief Whether a size is one that integers have. */
inline bool IsWord(uint32_t size) { return size - 1 < 8 && (size & (size - 1)) == 0; }

/*! \brief Whether a value fits an integer of this size, signed or unsigned. */
inline bool RawFits(uint32_t size, int64_t value) {
  if (size >= 8) return size == 8;
  const int bits = static_cast<int>(size) * 8;
  return IsWord(size) && value >= -(INT64_C(1) << (bits - 1)) && value >> bits <= 0;
}

/*!
 * \brief Rounds to nearest even into a 16-bit format: (5, 10) is fp16, (8, 7) bf16. Straight from
 * double, because by way of float a value can be rounded twice.
 * \return false where a finite value would become infinite.
 */
inline bool RoundTo16(double value, int exponent_bits, int mantissa_bits, uint16_t* out) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  const uint16_t sign = static_cast<uint16_t>(bits >> 63 << 15);
  const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  if (exponent == 0x7ff) {
    const uint16_t quiet = fraction ? static_cast<uint16_t>(1 << (mantissa_bits - 1)) : 0;
    *out = sign | infinity | quiet;
    return true;
  }
  int target = exponent - 1023 + bias;
  int shift = 52 - mantissa_bits + (target < 1 ? 1 - target : 0);
  if (exponent == 0 || shift > 54) {  // a double subnormal, or far below the smallest value
    *out = sign;
    return true;
  }
  const uint64_t mantissa = fraction | UINT64_C(1) << 52;
  uint64_t kept = mantissa >> shift;
  const uint64_t rest = mantissa & ((UINT64_C(1) << shift) - 1);
  const uint64_t half = UINT64_C(1) << (shift - 1);
  kept += rest > half || (rest == half && (kept & 1));
  // The carry of rounding runs on into the exponent, which is what IEEE formats are laid out for.
  const uint64_t magnitude =
      target < 1 ? kept : (static_cast<uint64_t>(target - 1) << mantissa_bits) + kept;
  if (magnitude >= infinity) return false;
  *out = sign | static_cast<uint16_t>(magnitude);
  return true;
}

/*! \brief Stores a number into a floating parameter; false where a finite value becomes inf. */
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

/*!
 * \brief Whether memory of this process can be read: the kernel is asked, which reads it and does
 * not crash. Where it may not be asked, as in some containers, the caller is believed.
 */
inline bool IsReadable(void* address, size_t size) {
  char copy[128];
  iovec to{copy, size}, from{address, size};
  if (size > sizeof(copy)) return false;
  const ssize_t count = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
  return count == static_cast<ssize_t>(size) || (count < 0 && errno != EFAULT);
}

/*! \brief The address of a tensor map; the driver copies from there, wherever that is. */
TVMFFI_CUBIN_RARE Problem ConvertMapHandle(const Param& param, const TVMFFIAny& any,
                                           Argument* out) {
  if (any.type_index != kTVMFFIOpaquePtr) return Problem::kType;
  if (any.v_ptr == nullptr || !IsReadable(any.v_ptr, param.size)) return Problem::kUnreadable;
  out->address = any.v_ptr;
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

/*! \brief Whether a tensor has no elements. */
inline bool IsEmpty(const DLTensor& tensor) {
  for (int i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return true;
  }
  return false;
}

/*! \brief Whether a tensor is row-major without gaps; dimensions of size 1 may have any stride. */
inline bool IsContiguous(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  uint64_t expected = 1;  // wraps around where a broadcast tensor is larger than any memory
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && static_cast<uint64_t>(tensor.strides[i]) != expected) {
      // A zero further out makes the tensor empty, and an empty one has nothing out of place.
      return IsEmpty(tensor);
    }
    expected *= static_cast<uint64_t>(tensor.shape[i]);
  }
  return true;
}

/*! \brief Whether the element type is one that the pointer points to. */
inline bool IsWantedDType(const Param& param, const DLTensor& tensor) {
  if (param.num_dtypes == 0) return true;
  for (int i = 0; i < param.num_dtypes; ++i) {
    if (memcmp(&tensor.dtype, &param.dtypes[i], sizeof(DLDataType)) == 0) return true;
  }
  return false;
}

/*! \brief Whether an address is a multiple of what the pointer's target needs. */
inline bool IsAligned(const Param& param, const void* data) {
  return (reinterpret_cast<uintptr_t>(data) & (param.align - 1)) == 0;
}

/*! \brief A tensor for a pointer parameter; its device is another question (CheckDevice). */
inline Problem ConvertTensor(const Param& param, const DLTensor& tensor, Argument* out) {
  if (!IsWantedDType(param, tensor)) return Problem::kDType;
  if (param.rank >= 0 && tensor.ndim != param.rank) return Problem::kRank;
  if (tensor.ndim < param.min_rank) return Problem::kFewDimensions;
  if (!param.strided && !IsContiguous(tensor)) return Problem::kNotContiguous;
  void* data = DataOf(tensor);
  if (!IsAligned(param, data) && !IsEmpty(tensor)) return Problem::kMisaligned;
  out->tensor = &tensor;
  out->storage.pointer = data;
  return Problem::kNone;
}

/*! \brief A tensor, None (null) or a raw address (ctypes.c_void_p) for a pointer parameter. */
inline Problem ConvertPointer(const Param& param, const TVMFFIAny& any, Argument* out) {
  if (const DLTensor* tensor = AsTensor(any)) return ConvertTensor(param, *tensor, out);
  const bool is_none = any.type_index == kTVMFFINone;
  if (!is_none && any.type_index != kTVMFFIOpaquePtr) return Problem::kType;
  if (param.in_expression || param.rank >= 0) return Problem::kNoTensor;
  out->storage.pointer = is_none ? nullptr : any.v_ptr;
  return IsAligned(param, out->storage.pointer) ? Problem::kNone : Problem::kMisaligned;
}

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

/*! \brief The device that a call's tensors agree on, and which parameter said so. */
struct TensorDevice {
  int device = -1;
  const Param* from = nullptr;
};

/*! \brief Checks a tensor that is the call's first, or not where that is. */
__attribute__((noinline)) inline int CheckOtherDevice(const char* function, const Param& param,
                                                      int position, const DLTensor& tensor,
                                                      TensorDevice* common) {
  if (tensor.device.device_type == kDLCUDA) {
    const int device = tensor.device.device_id;
    if (common->from == nullptr) {
      if (device < 0 || device >= kMaxDevices) {
        return Fail("ValueError",
                    "%s: argument %d (%s: %s): got a tensor on cuda:%d, wanted one on "
                    "cuda:0 to cuda:%d",
                    function, position, param.name, param.type, device, kMaxDevices - 1);
      }
      *common = {device, &param};
    } else if (common->device != device) {
      return Fail("ValueError",
                  "%s: argument %d (%s: %s) is on cuda:%d and %s is on cuda:%d: all "
                  "tensors of a launch must be on one device",
                  function, position, param.name, param.type, device, common->from->name,
                  common->device);
    }
    return 0;
  }
  if (IsHostMemoryForKernels(tensor)) return 0;
  return Fail("ValueError",
              "%s: argument %d (%s: %s): got a tensor on %s, wanted one on a CUDA "
              "device (pinned and managed host memory will do): move it first, as with x.cuda()",
              function, position, param.name, param.type, DescribeDevice(tensor.device).chars);
}

/*! \brief Checks where a tensor lives and that all tensors of the call agree on it. */
inline int CheckDevice(const char* function, const Param& param, int position,
                       const DLTensor& tensor, TensorDevice* common) {
  const bool is_same = tensor.device.device_type == kDLCUDA &&
                       tensor.device.device_id == common->device && common->device >= 0;
  return __builtin_expect(is_same, 1) ? 0
                                      : CheckOtherDevice(function, param, position, tensor, common);
}

/*! \brief An argument of the body's own entries that is an int, or None and leaves `out` alone. */
inline int ReadOption(const char* function, const char* what, const TVMFFIAny& any, int64_t* out,
                      bool* present) {
  *present = any.type_index != kTVMFFINone;
  if (!*present) return 0;
  if (any.type_index != kTVMFFIInt) {
    return Fail("TypeError", "%s: %s: got %s, wanted an int", function, what,
                DescribeArgument(any).chars);
  }
  *out = any.v_int64;
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_ARGUMENT_H_
