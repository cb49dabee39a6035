/*!
 * \file tvmffi_cubin/launcher/error.h
 * \brief How a generated launcher raises, and its words for what is wrong with an argument.
 *
 * What is wrong is found out in a few instructions, as a `Problem`; it is put in words only where
 * somebody is to read them.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_ERROR_H_
#define TVMFFI_CUBIN_LAUNCHER_ERROR_H_

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

#include "plan.h"

/*! \brief Of functions that few calls come to: apart from the others, compiled for size. */
#define TVMFFI_CUBIN_RARE __attribute__((noinline, cold)) inline

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief A short text in a buffer of its own, for use as one argument of Fail. */
struct Text {
  char chars[320];

  Text() { chars[0] = '\0'; }

  __attribute__((noinline, cold, format(printf, 2, 3))) void Print(const char* format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(chars, sizeof(chars), format, values);
    va_end(values);
  }
};

/*! \brief A text that is added to, as long as some dozens of instances need. */
struct LongText {
  char chars[8192];
  size_t used = 0;

  LongText() { chars[0] = '\0'; }

  /*! \brief Adds a text and keeps `reserve` bytes free; false, and nothing added, without room. */
  __attribute__((noinline, cold, format(printf, 3, 4))) bool Add(size_t reserve, const char* format,
                                                                 ...) {
    const size_t room = sizeof(chars) - used;
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(chars + used, room, format, values);
    va_end(values);
    if (length < 0 || static_cast<size_t>(length) + reserve >= room) {
      chars[used] = '\0';
      return false;
    }
    used += static_cast<size_t>(length);
    return true;
  }
};

/*! \brief Raises `kind` with a printf-formatted text; returns -1, as a tvm-ffi callee does. */
__attribute__((noinline, cold, format(printf, 2, 3))) inline int Fail(const char* kind,
                                                                      const char* format, ...) {
  char text[2048];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  TVMFFIErrorSetRaisedFromCStr(kind, text);
  return -1;
}

/*! \brief What stands in a status for a driver call where an error has been raised already. */
inline constexpr char kErrorIsRaised[] = "";

/*! \brief The status of what has failed and raised; takes what Fail returns. */
inline Status Raised(int) { return {CUDA_ERROR_UNKNOWN, kErrorIsRaised}; }

/*! \brief Which launch of which function an error is about. */
struct LaunchSite {
  const char* function;
  int number;         // of the launch, from 0
  int count;          // of the function's launches
  bool is_under_way;  // the launches before it went ahead
};

/*! \brief "f", and of several launches "f: launch 2 of 3 (the one before it went ahead)". */
TVMFFI_CUBIN_RARE Text SiteText(const LaunchSite& site) {
  Text text;
  char before[48] = "";
  if (site.is_under_way && site.number == 1) {
    snprintf(before, sizeof(before), " (the one before it went ahead)");
  } else if (site.is_under_way && site.number > 1) {
    snprintf(before, sizeof(before), " (the %d before it went ahead)", site.number);
  }
  if (site.count == 1) {
    text.Print("%s", site.function);
  } else {
    text.Print("%.200s: launch %d of %d%s", site.function, site.number + 1, site.count, before);
  }
  return text;
}

/*! \brief A DLPack device as people write it: "cuda:1", "cpu". */
TVMFFI_CUBIN_RARE Text DescribeDevice(DLDevice device) {
  Text text;
  const int type = static_cast<int>(device.device_type);
  if (type == kDLCPU) {
    text.Print("cpu");
  } else if (type == kDLCUDA) {
    text.Print("cuda:%d", device.device_id);
  } else {
    text.Print("DLPack device type %d, id %d", type, device.device_id);
  }
  return text;
}

/*! \brief The tensor in an argument, however tvm-ffi carries it; null where it is none. */
inline const DLTensor* AsTensor(const TVMFFIAny& any) {
  if (any.type_index == kTVMFFIDLTensorPtr) return static_cast<const DLTensor*>(any.v_ptr);
  if (any.type_index == kTVMFFITensor) return TVMFFITensorGetDLTensorPtr(any.v_obj);
  return nullptr;
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

/*! \brief The text of an argument; null data where it is none. */
inline TVMFFIByteArray TextIn(const TVMFFIAny& any) {
  switch (any.type_index) {
    case kTVMFFIRawStr:
      return {any.v_c_str, strlen(any.v_c_str)};
    case kTVMFFISmallStr:
      return TVMFFISmallBytesGetContentByteArray(&any);
    case kTVMFFIStr:
      return *TVMFFIBytesGetByteArrayPtr(any.v_obj);
    default:
      return {nullptr, 0};
  }
}

/*! \brief A DLPack dtype as people write it: "float32", "bfloat16", "int8x4". */
TVMFFI_CUBIN_RARE Text DescribeDType(DLDataType dtype) {
  Text text;
  TVMFFIAny name{};
  if (TVMFFIDataTypeToString(&dtype, &name) != 0) {
    text.Print("DLPack code %d, bits %d, lanes %d", dtype.code, dtype.bits, dtype.lanes);
    return text;
  }
  const TVMFFIByteArray found = TextIn(name);
  text.Print("%.*s", static_cast<int>(found.size), found.data);
  if (name.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(name.v_obj);
  return text;
}

/*! \brief Whether an argument's text is this one. */
inline bool IsText(const TVMFFIByteArray& text, const char* wanted) {
  return strlen(wanted) == text.size && memcmp(wanted, text.data, text.size) == 0;
}

/*! \brief Where a tensor's elements begin. */
inline void* DataOf(const DLTensor& tensor) {
  // By way of an integer: nothing may be added to an empty tensor's null pointer.
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset);
}

/*! \brief What an argument is, for "got ...". */
TVMFFI_CUBIN_RARE Text DescribeArgument(const TVMFFIAny& any) {
  Text text;
  if (const DLTensor* tensor = AsTensor(any)) {
    text.Print("a tensor of dtype %.99s and rank %d on %.99s", DescribeDType(tensor->dtype).chars,
               tensor->ndim, DescribeDevice(tensor->device).chars);
    return text;
  }
  switch (any.type_index) {
    case kTVMFFINone:
      text.Print("None");
      return text;
    case kTVMFFIInt:
      text.Print("the int %lld", static_cast<long long>(any.v_int64));
      return text;
    case kTVMFFIBigInt:
      text.Print("an int beyond 64 bits signed");
      return text;
    case kTVMFFIBool:
      text.Print("the bool %s", any.v_int64 ? "True" : "False");
      return text;
    case kTVMFFIFloat:
      text.Print("the float %.17g", any.v_float64);
      return text;
    case kTVMFFIRawStr:
    case kTVMFFISmallStr:
    case kTVMFFIStr:
      text.Print("a str");
      return text;
    case kTVMFFIByteArrayPtr:
    case kTVMFFISmallBytes:
    case kTVMFFIBytes:
      text.Print("bytes");
      return text;
    case kTVMFFIOpaquePyObject:
      text.Print("a Python object that is no tensor, number, bytes or None");
      return text;
    default:
      break;
  }
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(any.type_index);
  text.Print("an object of type %.*s", info ? static_cast<int>(info->type_key.size) : 7,
             info ? info->type_key.data : "unknown");
  return text;
}

/*! \brief What is wrong with an argument; what came and what was wanted is looked up anew. */
enum class Problem : uint8_t {
  kNone,
  kType,
  kRange,
  kBeyondExpressions,  // a uint64 that expressions, which are signed, cannot hold
  kStructSize,
  kDType,
  kRank,
  kFewDimensions,  // an expression reads one that the tensor lacks
  kNotContiguous,
  kMisaligned,
  kNoTensor,  // None or an address, where an expression reads a tensor's shape
  kNotMultiple,
  kOtherValue,
  kHalf,        // a float of 2 bytes, which may be fp16 or bf16
  kUnreadable,  // the address of a tensor map where none can be
};

/*! \brief What a parameter takes of which the size is known alone. */
TVMFFI_CUBIN_RARE const char* DescribeWantedRaw(const Param& param) {
  if (param.in_expression) return "an int: an expression of the launch reads it";
  switch (param.size) {
    case 8:
      return "a tensor, None (a null pointer), an address as ctypes.c_void_p, an int, a float or "
             "bytes of its size";
    case 4:
      return "an int, a float or bytes of its size";
    case 2:
      return "an int or bytes of its size";
    case 1:
      return "an int, a bool or bytes of its size";
    default:
      return "bytes of its size";
  }
}

/*! \brief What a parameter takes, for "wanted ...". */
TVMFFI_CUBIN_RARE const char* DescribeWanted(const Param& param) {
  switch (param.kind) {
    case Kind::kPointer:
      if (strcmp(param.type, "CUstream") == 0 || strcmp(param.type, "cudaStream_t") == 0) {
        return "a stream: an object with __cuda_stream__, its handle as ctypes.c_void_p (as an int "
               "where params declares int64_t), or None, the default stream";
      }
      return "a tensor, None (a null pointer), or an address as ctypes.c_void_p";
    case Kind::kBytes:
      return "bytes of the struct's own layout";
    case Kind::kMap:
      return "bytes of a CUtensorMap, or the address of one in host memory as ctypes.c_void_p";
    case Kind::kRaw:
      return DescribeWantedRaw(param);
    case Kind::kBool:
      return "a bool";
    case Kind::kFloat:
    case Kind::kBfloat:
      return "a number";
    default:
      return "an int";
  }
}

/*! \brief A number that the parameter's type cannot hold. */
TVMFFI_CUBIN_RARE void DescribeRange(const Param& param, const TVMFFIAny& any, Text* text) {
  const Text got = DescribeArgument(any);
  const bool is_raw = param.kind == Kind::kRaw;
  const bool is_integer = param.kind == Kind::kInt || param.kind == Kind::kUint || is_raw;
  if (!is_integer || any.type_index == kTVMFFIFloat) {
    text->Print("%.200s is out of range: it would become inf", got.chars);
    return;
  }
  const bool is_signed = param.kind == Kind::kInt;
  const int bits = static_cast<int>(param.size) * 8;
  const long long low = is_signed || is_raw ? -(1LL << (bits - 2)) * 2 : 0;
  const unsigned long long high = ~0ULL >> (64 - bits + (is_signed ? 1 : 0));
  text->Print("%.200s is out of range %lld to %llu", got.chars, low, high);
}

/*! \brief Puts a problem in words, "got ..., wanted ..."; returns the error's kind. */
TVMFFI_CUBIN_RARE const char* DescribeProblem(const Param& param, const TVMFFIAny& any,
                                              Problem problem, Text* text) {
  const DLTensor* tensor = AsTensor(any);
  TVMFFIByteArray content{};
  switch (problem) {
    case Problem::kType:
      text->Print("got %.99s, wanted %s%s", DescribeArgument(any).chars, DescribeWanted(param),
                  param.kind == Kind::kRaw
                      ? "; the image does not tell its type: declare it with params="
                      : "");
      return "TypeError";
    case Problem::kRange:
      DescribeRange(param, any, text);
      break;
    case Problem::kBeyondExpressions:
      text->Print("an expression reads it and cannot hold values above 9223372036854775807");
      break;
    case Problem::kStructSize:
      AsBytes(any, &content);
      text->Print("got %zu bytes, wanted %u, the %s size", content.size, param.size,
                  param.kind == Kind::kRaw ? "parameter's" : "struct's");
      break;
    case Problem::kMisaligned:
      text->Print("the data lies at %p, wanted an address that is a multiple of %u",
                  tensor != nullptr ? DataOf(*tensor) : any.v_ptr, param.align);
      break;
    case Problem::kNoTensor:
      text->Print("got %s, wanted a tensor: the launch reads its shape or its dtype",
                  any.type_index == kTVMFFINone ? "None" : "an address");
      break;
    case Problem::kNotMultiple:
      text->Print("got %.200s, wanted a multiple of %u: the kernel was compiled for that",
                  DescribeArgument(any).chars, param.align);
      break;
    case Problem::kOtherValue:
      text->Print("got %.200s, wanted %lld: the kernel was compiled for that alone",
                  DescribeArgument(any).chars, static_cast<long long>(param.value));
      break;
    case Problem::kHalf:
      text->Print(
          "got %.99s for 2 bytes, which may be fp16 or bf16: declare the type, as in "
          "params=\"__half %.99s\"",
          DescribeArgument(any).chars, param.name);
      return "TypeError";
    case Problem::kUnreadable:
      text->Print(
          "the %u bytes at %p cannot be read, wanted the address of a CUtensorMap in host "
          "memory",
          param.size, any.v_ptr);
      break;
    case Problem::kDType:
      text->Print("got a tensor of dtype %.99s, wanted %.99s", DescribeDType(tensor->dtype).chars,
                  param.dtype_names);
      break;
    case Problem::kRank:
      text->Print("got a tensor of rank %d, wanted rank %d", tensor->ndim, param.rank);
      break;
    case Problem::kFewDimensions:
      text->Print(
          "got a tensor of rank %d, wanted rank %d or more: an expression of the launch reads "
          "dimension %d",
          tensor->ndim, param.min_rank, param.min_rank - 1);
      break;
    case Problem::kNotContiguous:
      text->Print(
          "got a tensor that is not contiguous, wanted a contiguous one: call .contiguous(), "
          "or name it in strided= of its Launch if the kernel handles strides");
      break;
    case Problem::kNone:
      break;
  }
  return problem == Problem::kDType ? "TypeError" : "ValueError";
}

/*! \brief Raises "f: argument 2 (n: int): got ..., wanted ..."; `position` is from 1. */
TVMFFI_CUBIN_RARE int FailArgument(const char* function, const Param& param, int position,
                                   const TVMFFIAny& any, Problem problem) {
  Text text;
  const char* kind = DescribeProblem(param, any, problem, &text);
  return Fail(kind, "%s: argument %d (%s: %s): %s", function, position, param.name, param.type,
              text.chars);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_ERROR_H_
