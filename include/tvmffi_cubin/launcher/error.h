// The values that tvm-ffi passes, and the errors that a launcher raises about them.
#pragma once

#include <string.h>

#include "plan.h"

// tvm-ffi before 0.1.15 has neither of these in its headers, no such function in its library, and
// no such values: it rejects an integer beyond 64 bits itself.
extern "C" __attribute__((weak)) TVMFFIByteArray
TVMFFIBigIntGetContentByteArray(const TVMFFIAny* value);

TVMFFI_CUBIN_BEGIN

constexpr int32_t kBigInt = 78;

// The tensor in a value, however tvm-ffi carries it; null if it is not one.
inline const DLTensor* AsTensor(const TVMFFIAny& any) {
  if (any.type_index == kTVMFFIDLTensorPtr) return static_cast<const DLTensor*>(any.v_ptr);
  if (any.type_index == kTVMFFITensor) return TVMFFITensorGetDLTensorPtr(any.v_obj);
  return nullptr;
}

// The bytes of a value, however tvm-ffi carries them; null data if it has none.
inline TVMFFIByteArray BytesIn(const TVMFFIAny& any) {
  if (any.type_index == kTVMFFIBytes) return *TVMFFIBytesGetByteArrayPtr(any.v_obj);
  if (any.type_index == kTVMFFISmallBytes) return TVMFFISmallBytesGetContentByteArray(&any);
  if (any.type_index != kTVMFFIByteArrayPtr) return {nullptr, 0};
  return *static_cast<const TVMFFIByteArray*>(any.v_ptr);
}

// The string in a value; null data if it is not one.
inline TVMFFIByteArray TextIn(const TVMFFIAny& any) {
  if (any.type_index == kTVMFFISmallStr) return TVMFFISmallBytesGetContentByteArray(&any);
  if (any.type_index == kTVMFFIStr) return *TVMFFIBytesGetByteArrayPtr(any.v_obj);
  return {nullptr, 0};
}

inline bool IsText(const TVMFFIByteArray& text, const char* wanted) {
  return strlen(wanted) == text.size && memcmp(wanted, text.data, text.size) == 0;
}

// Adds an element type: "float32".
TVMFFI_CUBIN_COLD void AddDType(const DLDataType& dtype, Text* text) {
  TVMFFIAny name{};
  TVMFFIDataTypeToString(&dtype, &name);
  const TVMFFIByteArray chars = TextIn(name);
  text->Add("%.*s", static_cast<int>(chars.size), chars.data);
  if (name.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(name.v_obj);
}

// Describes a value, for "got ...".
TVMFFI_CUBIN_COLD Text DescribeArgument(const TVMFFIAny& any) {
  Text text;
  if (const DLTensor* tensor = AsTensor(any)) {
    const int type = static_cast<int>(tensor->device.device_type);
    text.Add("a tensor of dtype ");
    AddDType(tensor->dtype, &text);
    text.Add(" and rank %d on ", tensor->ndim);
    text.Add(type == kDLCPU    ? "cpu"
             : type == kDLCUDA ? "cuda:%d"
                               : "device %d of DLPack type %d",
             tensor->device.device_id, type);
  } else if (any.type_index == kTVMFFINone) {
    text.Add("None");
  } else if (any.type_index == kTVMFFIInt) {
    text.Add("the int %ld", any.v_int64);
  } else if (any.type_index == kBigInt) {
    text.Add("an int that does not fit in int64");
  } else if (any.type_index == kTVMFFIBool) {
    text.Add("the bool %s", any.v_int64 ? "True" : "False");
  } else if (any.type_index == kTVMFFIFloat) {
    text.Add("the float %.17g", any.v_float64);
  } else if (any.type_index == kTVMFFIOpaquePtr) {
    text.Add("the address %p", any.v_ptr);
  } else if (TextIn(any).data != nullptr) {
    text.Add("a str");
  } else if (BytesIn(any).data != nullptr) {
    text.Add("%zu bytes", BytesIn(any).size);
  } else if (any.type_index == kTVMFFIArray) {
    text.Add("a list or tuple");
  } else if (any.type_index == kTVMFFIOpaquePyObject) {
    text.Add("a Python object that is not a tensor, number, bytes or None");
  } else {
    const TVMFFIByteArray key = TVMFFIGetTypeInfo(any.type_index)->type_key;
    text.Add("a value of type %.*s", static_cast<int>(key.size), key.data);
  }
  return text;
}

// Raises `kind` with a printf-style message; returns -1, as a tvm-ffi callee does.
__attribute__((noinline, cold, format(printf, 2, 3))) inline int Fail(const char* kind,
                                                                      const char* format, ...) {
  Text text;
  va_list values;
  va_start(values, format);
  text.AddList(format, values);
  va_end(values);
  TVMFFIErrorSetRaisedFromCStr(kind, text.chars);
  return -1;
}

// The reason for a failure whose error has already been raised.
inline constexpr char kRaised[] = "";

// The status of such a failure; takes what Fail returns.
inline Status Raised(int) { return {CUDA_ERROR_UNKNOWN, kRaised}; }

enum class Problem : uint8_t {
  kNone,
  kType,
  kRange,
  kSize,
  kDType,
  kRank,
  kContiguous,
  kMultiple,
  kValue,
  kDevice
};

// What a parameter takes, for "expected ...".
TVMFFI_CUBIN_COLD const char* DescribeWanted(const Param& param) {
  static constexpr const char* kWanted[] = {
      "a tensor, None (a null pointer), or an address as ctypes.c_void_p",
      "an int",
      "an int",
      "a number",
      "a number",
      "a bool",
      "bytes in the struct's layout (for a ctypes.Structure, bytes(value))",
      "a value of its size: bytes; if 1 to 8, an int; if 4 or 8, a float; if 8, a tensor, None or "
      "an address. The image does not record its type: declare it with params=",
      "bytes of a CUtensorMap, or the address of one in host memory as ctypes.c_void_p"};
  if (strcmp(param.type, "CUstream") == 0 || strcmp(param.type, "cudaStream_t") == 0) {
    return "a stream: an object with __cuda_stream__, a handle as ctypes.c_void_p, or None";
  }
  if (param.kind == Kind::kPointer && (param.in_expression || param.rank >= 0)) {
    return "a tensor: the launch reads its shape or its dtype";
  }
  if (param.kind == Kind::kRaw && param.in_expression) {
    return "an int: a launch expression reads it";
  }
  return kWanted[static_cast<int>(param.kind)];
}

// Adds "got ..., expected ..."; returns the error's kind. `device` is where the call's tensors are.
TVMFFI_CUBIN_COLD const char* AddProblem(const Param& param, const TVMFFIAny& any, Problem problem,
                                         int device, Text* text) {
  const DLTensor* tensor = AsTensor(any);
  const int bits = static_cast<int>(param.size) * 8;
  text->Add("got %s, expected ", DescribeArgument(any).chars);
  switch (problem) {
    case Problem::kType:
      text->Add("%s", DescribeWanted(param));
      return "TypeError";
    case Problem::kDType:
      for (int i = 0; i < param.num_dtypes; ++i) {
        if (i > 0) text->Add(" or ");
        AddDType(param.dtypes[i], text);
      }
      return "TypeError";
    case Problem::kRange:
      if (param.kind == Kind::kFloat || param.kind == Kind::kBfloat ||
          any.type_index == kTVMFFIFloat) {
        text->Add("a number that fits in %s", param.type);
      } else {
        // An expression reads an int64.
        const bool is_signed = param.kind == Kind::kInt || (param.in_expression && bits == 64);
        text->Add("%lld to %llu", param.kind == Kind::kUint ? 0 : -(1LL << (bits - 2)) * 2,
                  ~0ULL >> (64 - bits + is_signed));
      }
      break;
    case Problem::kSize:
      text->Add("%u, the parameter's size", param.size);
      break;
    case Problem::kRank:
      text->Add(param.rank >= 0 ? "rank %d" : "rank %d or more: an expression reads that many",
                param.rank >= 0 ? param.rank : param.min_rank);
      break;
    case Problem::kContiguous:
      text->Add("a contiguous one: call .contiguous(), or list it in strided= of its Launch");
      break;
    case Problem::kMultiple:
      text->Add(tensor != nullptr ? "an address that is a multiple of %u"
                                  : "a multiple of %u: the kernel was compiled to assume it",
                param.align);
      break;
    case Problem::kDevice:
      text->Add(tensor->device.device_type == kDLCUDA
                    ? "one on cuda:%d"
                    : "one on a CUDA device: move it there, as with x.cuda()",
                device);
      break;
    default:
      text->Add("%ld: the kernel was compiled to assume it", param.value);
  }
  return "ValueError";
}

TVMFFI_CUBIN_END
