// The values that tvm-ffi passes: what is in them, and the words for them.
#pragma once

#include <string.h>
#include <tvm/ffi/c_api.h>

#include "../core/text.h"

TVMFFI_CUBIN_BEGIN

// The tensor in a value, however tvm-ffi carries it; null where it is none.
inline const DLTensor* AsTensor(const TVMFFIAny& any) {
  if (any.type_index == kTVMFFIDLTensorPtr) return static_cast<const DLTensor*>(any.v_ptr);
  if (any.type_index == kTVMFFITensor) return TVMFFITensorGetDLTensorPtr(any.v_obj);
  return nullptr;
}

// The bytes of a value, in whichever form tvm-ffi carries them; null: it has none.
inline TVMFFIByteArray BytesIn(const TVMFFIAny& any) {
  if (any.type_index == kTVMFFIBytes) return *TVMFFIBytesGetByteArrayPtr(any.v_obj);
  if (any.type_index == kTVMFFISmallBytes) return TVMFFISmallBytesGetContentByteArray(&any);
  if (any.type_index != kTVMFFIByteArrayPtr) return {nullptr, 0};
  return *static_cast<const TVMFFIByteArray*>(any.v_ptr);
}

// The text of a value; null data where it is none.
inline TVMFFIByteArray TextIn(const TVMFFIAny& any) {
  if (any.type_index == kTVMFFIRawStr) return {any.v_c_str, strlen(any.v_c_str)};
  if (any.type_index == kTVMFFISmallStr) return TVMFFISmallBytesGetContentByteArray(&any);
  if (any.type_index == kTVMFFIStr) return *TVMFFIBytesGetByteArrayPtr(any.v_obj);
  return {nullptr, 0};
}

// Whether a value's text is this one.
inline bool IsText(const TVMFFIByteArray& text, const char* wanted) {
  return strlen(wanted) == text.size && memcmp(wanted, text.data, text.size) == 0;
}

// Adds an element type as people write it: "float32".
TVMFFI_CUBIN_COLD void AddDType(const DLDataType& dtype, Text* text) {
  TVMFFIAny name{};
  TVMFFIDataTypeToString(&dtype, &name);
  const TVMFFIByteArray chars = TextIn(name);
  text->Add("%.*s", static_cast<int>(chars.size), chars.data);
  if (name.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(name.v_obj);
}

// Adds a tensor as people write it: "a tensor of dtype float32 and rank 2 on cuda:1".
TVMFFI_CUBIN_COLD void AddTensor(const DLTensor& tensor, Text* text) {
  const int type = static_cast<int>(tensor.device.device_type), id = tensor.device.device_id;
  text->Add("a tensor of dtype ");
  AddDType(tensor.dtype, text);
  text->Add(" and rank %d on ", tensor.ndim);
  if (type == kDLCPU) {
    text->Add("cpu");
  } else {
    text->Add(type == kDLCUDA ? "cuda:%d" : "device %d of DLPack type %d", id, type);
  }
}

// What a value is, for "got ...".
TVMFFI_CUBIN_COLD Text DescribeArgument(const TVMFFIAny& any) {
  Text text;
  const DLTensor* tensor = AsTensor(any);
  if (tensor != nullptr) {
    AddTensor(*tensor, &text);
  } else if (any.type_index == kTVMFFINone) {
    text.Add("None");
  } else if (any.type_index == kTVMFFIInt) {
    text.Add("the int %lld", static_cast<long long>(any.v_int64));
  } else if (any.type_index == kTVMFFIBigInt) {
    text.Add("an int beyond 64 bits signed");
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
  } else if (any.type_index == kTVMFFIOpaquePyObject) {
    text.Add("a Python object that is no tensor, number, bytes or None");
  } else {
    const TVMFFIByteArray key = TVMFFIGetTypeInfo(any.type_index)->type_key;
    text.Add("an object of type %.*s", static_cast<int>(key.size), key.data);
  }
  return text;
}

TVMFFI_CUBIN_END
