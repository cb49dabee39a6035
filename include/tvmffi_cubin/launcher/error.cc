#include "error.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

int Fail(const char* kind, const char* format, ...) {
  char text[2048];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  TVMFFIErrorSetRaisedFromCStr(kind, text);
  return -1;
}

Text DescribeDType(DLDataType dtype) {
  static constexpr const char* kNames[] = {"int",
                                           "uint",
                                           "float",
                                           "handle",
                                           "bfloat",
                                           "complex",
                                           "bool",
                                           "float8_e3m4",
                                           "float8_e4m3",
                                           "float8_e4m3b11fnuz",
                                           "float8_e4m3fn",
                                           "float8_e4m3fnuz",
                                           "float8_e5m2",
                                           "float8_e5m2fnuz",
                                           "float8_e8m0fnu",
                                           "float6_e2m3fn",
                                           "float6_e3m2fn",
                                           "float4_e2m1fn"};
  Text text;
  const bool known = dtype.code < sizeof(kNames) / sizeof(kNames[0]);
  const bool sized = dtype.code < kDLBool;
  int used = known ? snprintf(text.chars, sizeof(text.chars), "%s", kNames[dtype.code])
                   : snprintf(text.chars, sizeof(text.chars), "dtype code %d, bits ", dtype.code);
  if (sized || !known) {
    used += snprintf(text.chars + used, sizeof(text.chars) - used, "%d", dtype.bits);
  }
  if (dtype.lanes != 1) snprintf(text.chars + used, sizeof(text.chars) - used, "x%d", dtype.lanes);
  return text;
}

Text DescribeDevice(DLDevice device) {
  Text text;
  switch (static_cast<int>(device.device_type)) {
    case kDLCPU:
      snprintf(text.chars, sizeof(text.chars), "cpu");
      break;
    case kDLCUDA:
      snprintf(text.chars, sizeof(text.chars), "cuda:%d", device.device_id);
      break;
    default:
      snprintf(text.chars, sizeof(text.chars), "DLPack device type %d, id %d",
               static_cast<int>(device.device_type), device.device_id);
  }
  return text;
}

Text DescribeArgument(const TVMFFIAny& any) {
  Text text;
  char* out = text.chars;
  const size_t size = sizeof(text.chars);
  if (const DLTensor* tensor = AsTensor(any)) {
    snprintf(out, size, "a tensor of dtype %.99s and rank %d on %.99s",
             DescribeDType(tensor->dtype).chars, tensor->ndim,
             DescribeDevice(tensor->device).chars);
    return text;
  }
  switch (any.type_index) {
    case kTVMFFINone:
      snprintf(out, size, "None");
      return text;
    case kTVMFFIInt:
      snprintf(out, size, "the int %lld", static_cast<long long>(any.v_int64));
      return text;
    case kTVMFFIBigInt:
      snprintf(out, size, "an int beyond 64 bits signed");
      return text;
    case kTVMFFIBool:
      snprintf(out, size, "the bool %s", any.v_int64 ? "True" : "False");
      return text;
    case kTVMFFIFloat:
      snprintf(out, size, "the float %.17g", any.v_float64);
      return text;
    case kTVMFFIRawStr:
    case kTVMFFISmallStr:
    case kTVMFFIStr:
      snprintf(out, size, "a str");
      return text;
    case kTVMFFIByteArrayPtr:
    case kTVMFFISmallBytes:
    case kTVMFFIBytes:
      snprintf(out, size, "bytes");
      return text;
    case kTVMFFIOpaquePyObject:
      snprintf(out, size, "a Python object that is no tensor, number, bytes or None");
      return text;
    default:
      break;
  }
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(any.type_index);
  snprintf(out, size, "an object of type %.*s", info ? static_cast<int>(info->type_key.size) : 7,
           info ? info->type_key.data : "unknown");
  return text;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
