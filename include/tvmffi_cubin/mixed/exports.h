// Precedes host.h in the host code of a mixed source that uses tvm-ffi: exported functions end in
// runtime.cc, which tells rejected launches and has the code for exceptions once.
#pragma once
#pragma GCC system_header

#include <tvm/ffi/function.h>

#include "launch.h"

#undef TVM_FFI_SAFE_CALL_END
#define TVM_FFI_SAFE_CALL_END()              \
  }                                          \
  catch (...) {                              \
    return ::tvmffi_cubin::EndThrown();      \
  }                                          \
  using namespace ::tvmffi_cubin::no_result; \
  return ::tvmffi_cubin::EndReturned(result)
