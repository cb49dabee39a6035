// Precedes host.h in the host code of a mixed source that uses tvm-ffi: tvm-ffi's exports and
// throws, with the code behind them compiled once, in runtime.cc.
#pragma once
#pragma GCC system_header

#define TVMFFI_CUBIN_EXPORTS
#include "launch.h"

#define TVMFFI_CUBIN_THROW(ErrorKind, is_logged)                                                \
  ::tvmffi_cubin::Thrower(#ErrorKind, TVMFFIBacktrace(__FILE__, __LINE__, TVM_FFI_FUNC_SIG, 0), \
                          is_logged)                                                            \
      .stream()
#undef TVM_FFI_THROW
#define TVM_FFI_THROW(ErrorKind) TVMFFI_CUBIN_THROW(ErrorKind, TVM_FFI_ALWAYS_LOG_BEFORE_THROW)
#undef TVM_FFI_LOG_AND_THROW
#define TVM_FFI_LOG_AND_THROW(ErrorKind) TVMFFI_CUBIN_THROW(ErrorKind, true)

#include <tvm/ffi/function.h>

#undef TVM_FFI_DLL_EXPORT_TYPED_FUNC_IMPL_
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC_IMPL_(ExportName, Function)                                 \
  extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_##ExportName(void*, const TVMFFIAny* args,          \
                                                           int32_t num_args, TVMFFIAny* result) { \
    using FuncInfo = ::tvm::ffi::detail::FunctionInfo<std::decay_t<decltype(Function)>>;          \
    static std::string name = #ExportName;                                                        \
    try {                                                                                         \
      ::tvm::ffi::detail::unpack_call<typename FuncInfo::RetType>(                                \
          std::make_index_sequence<FuncInfo::num_args>{}, &name, Function,                        \
          reinterpret_cast<const ::tvm::ffi::AnyView*>(args), num_args,                           \
          reinterpret_cast<::tvm::ffi::Any*>(result));                                            \
    } catch (...) {                                                                               \
      return ::tvmffi_cubin::EndThrown();                                                         \
    }                                                                                             \
    if (__builtin_expect(!::tvmffi_cubin::has_refusal, 1)) return 0;                              \
    return ::tvmffi_cubin::EndRefused(result);                                                    \
  }
