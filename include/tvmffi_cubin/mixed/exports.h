// Precedes host.h in the host code of a mixed source that uses tvm-ffi: exported functions report
// rejected launches, and the code behind exports and throws is compiled once, in runtime.cc.
#pragma once
#pragma GCC system_header

#define TVMFFI_CUBIN_EXPORTS
#include "launch.h"

#undef TVM_FFI_THROW
#define TVM_FFI_THROW(ErrorKind)                                                                \
  ::tvmffi_cubin::Thrower{#ErrorKind, TVMFFIBacktrace(__FILE__, __LINE__, TVM_FFI_FUNC_SIG, 0)} \
      .stream()

#include <tvm/ffi/function.h>

#undef TVM_FFI_SAFE_CALL_END
#define TVM_FFI_SAFE_CALL_END()              \
  }                                          \
  catch (...) {                              \
    return ::tvmffi_cubin::EndThrown();      \
  }                                          \
  using namespace ::tvmffi_cubin::no_result; \
  return ::tvmffi_cubin::EndReturned(result)
