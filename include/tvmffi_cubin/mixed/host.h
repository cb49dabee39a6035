/*!
 * \file tvmffi_cubin/mixed/host.h
 * \brief What the host side of a mixed source is compiled against: CUDA's own runtime header with
 * what it has for nvcc, and what nvcc adds of its own. qualifiers.h comes after all headers.
 */
#ifndef TVMFFI_CUBIN_MIXED_HOST_H_
#define TVMFFI_CUBIN_MIXED_HOST_H_
// The user's flags ask for warnings about the user's own text.
#pragma GCC system_header

#ifndef __GXX_RTTI
#error "-fno-rtti: the kernels of a mixed source are known by their types' names; leave it out"
#endif

// clang-format off
#include "launch.h"
// clang-format on
#include <tvm/ffi/function.h>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
// Device functions are for the other side: what declares them does nothing here.
#define __COMMON_FUNCTIONS_H__
#define __DEVICE_FUNCTIONS_H__
#define __MATH_FUNCTIONS_H__
#define __CUDACC__
#include <cuda_runtime.h>
#undef __CUDACC__
#endif
#include "device_words.h"
#include "host_math.h"

// Of headers that are not for this side.
namespace cub {}
namespace cooperative_groups {}
namespace nvcuda {
namespace wmma {}
}  // namespace nvcuda

// tvm-ffi's own, which tells what was refused within; its errors are set in runtime.cc.
#undef TVM_FFI_DLL_EXPORT_TYPED_FUNC_IMPL_
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC_IMPL_(ExportName, Function)                        \
  extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_##ExportName(                              \
      void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {               \
    using FuncInfo = ::tvm::ffi::detail::FunctionInfo<std::decay_t<decltype(Function)>>; \
    static std::string name = #ExportName;                                               \
    const bool had_refusal = ::tvmffi_cubin::has_refusal;                                \
    try {                                                                                \
      ::tvm::ffi::detail::unpack_call<typename FuncInfo::RetType>(                       \
          std::make_index_sequence<FuncInfo::num_args>{}, &name, Function,               \
          reinterpret_cast<const ::tvm::ffi::AnyView*>(args), num_args,                  \
          reinterpret_cast<::tvm::ffi::Any*>(result));                                   \
    } catch (...) {                                                                      \
      return ::tvmffi_cubin::EndThrown(had_refusal);                                     \
    }                                                                                    \
    if (__builtin_expect(!::tvmffi_cubin::has_refusal || had_refusal, 1)) return 0;      \
    return ::tvmffi_cubin::EndExport(result);                                            \
  }

#endif  // TVMFFI_CUBIN_MIXED_HOST_H_
