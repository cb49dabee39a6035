// Host alone: no kernel, no qualifier.
#pragma once

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <vector>

namespace tools {

inline void* stream_of(const tvm::ffi::TensorView& t) {
  return TVMFFIEnvGetStream(t.device().device_type, t.device().device_id);
}

template <typename T>
T* pointer(const tvm::ffi::TensorView& t, int64_t expected) {
  if (t.numel() != expected) TVM_FFI_THROW(ValueError) << "got " << t.numel() << " elements";
  return static_cast<T*>(t.data_ptr());
}

}  // namespace tools
