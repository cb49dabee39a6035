/*!
 * \file tvmffi_cubin/mixed/checked_export.h
 * \brief Exported functions of mixed sources: a launch that was refused is thrown as they return.
 */
#ifndef TVMFFI_CUBIN_MIXED_CHECKED_EXPORT_H_
#define TVMFFI_CUBIN_MIXED_CHECKED_EXPORT_H_

#include <tvm/ffi/function.h>

#include <string>

#include "kernel_launch.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief How many exported functions the thread is in. */
inline thread_local int export_depth = 0;

/*! \brief Throws the thread's refused launch. */
[[noreturn]] void ThrowLaunchFailure();

/*! \brief One call of an exported function. */
class ExportScope {
 public:
  ExportScope() {
    if (export_depth++ == 0) Forget();
    was_pending_ = launch_failure.is_pending;
  }
  ExportScope(const ExportScope&) = delete;
  ExportScope& operator=(const ExportScope&) = delete;
  ~ExportScope() { --export_depth; }

  /*! \brief Whether a launch within was refused, and nobody has taken that. */
  bool Failed() const { return !was_pending_ && launch_failure.is_pending; }

 private:
  /*! \brief An earlier call's errors are no concern of this one. */
  static void Forget() {
    last_runtime_error = cudaSuccess;
    launch_failure.is_pending = false;
    launch_problem.result = CUDA_SUCCESS;
  }

  bool was_pending_;
};

/*! \brief What an exported function's symbol does: tvm-ffi's call of it, and the check. */
template <typename Function>
int CallExported(Function&& function, const std::string& name, const TVMFFIAny* args,
                 int32_t num_args, TVMFFIAny* result) {
  using Info = ::tvm::ffi::detail::FunctionInfo<std::decay_t<Function>>;
  TVM_FFI_SAFE_CALL_BEGIN();
  const ExportScope scope;
  auto* returned = reinterpret_cast<::tvm::ffi::Any*>(result);
  ::tvm::ffi::detail::unpack_call<typename Info::RetType>(
      std::make_index_sequence<Info::num_args>{}, &name, function,
      reinterpret_cast<const ::tvm::ffi::AnyView*>(args), num_args, returned);
  if (__builtin_expect(scope.Failed(), 0)) {
    returned->reset();  // nobody takes it from a call that has failed
    ThrowLaunchFailure();
  }
  TVM_FFI_SAFE_CALL_END();
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

[[noreturn]] TVMFFI_CUBIN_COLD void ThrowLaunchFailure() {
  LaunchFailure* failure = &launch_failure;
  failure->is_pending = false;
  last_runtime_error = cudaSuccess;
  const std::string text = failure->text;
  if (failure->is_limit) TVM_FFI_THROW(LaunchLimitError) << text;
  TVM_FFI_THROW(LaunchError) << text;
  __builtin_unreachable();
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

// tvm-ffi's own macros use this one; what they say of metadata and docstrings stays theirs.
#undef TVM_FFI_DLL_EXPORT_TYPED_FUNC_IMPL_
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC_IMPL_(ExportName, Function)                       \
  extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_##ExportName(                             \
      void*, const TVMFFIAny* tvmffi_cubin_args, int32_t tvmffi_cubin_num_args,         \
      TVMFFIAny* tvmffi_cubin_result) {                                                 \
    static const std::string tvmffi_cubin_name = #ExportName;                           \
    return ::tvmffi_cubin::CallExported(Function, tvmffi_cubin_name, tvmffi_cubin_args, \
                                        tvmffi_cubin_num_args, tvmffi_cubin_result);    \
  }

#endif  // TVMFFI_CUBIN_MIXED_CHECKED_EXPORT_H_
