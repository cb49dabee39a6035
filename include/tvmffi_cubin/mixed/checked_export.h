/*!
 * \file tvmffi_cubin/mixed/checked_export.h
 * \brief Exported functions of mixed sources: a launch that was refused is thrown as they return.
 */
#ifndef TVMFFI_CUBIN_MIXED_CHECKED_EXPORT_H_
#define TVMFFI_CUBIN_MIXED_CHECKED_EXPORT_H_

#include <tvm/ffi/function.h>

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "../core/limits.h"
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

/*! \brief How an exported function is called, for errors: its name, and the names of its types. */
struct ExportSignature {
  const char* name;
  size_t num_args;
  std::string (*const* types)();  // those of the arguments, then what it returns
};

/*! \brief As tvm-ffi throws and words them. Not its own: those are compiled with every unit. */
[[noreturn]] void ThrowArgumentCount(const ExportSignature& signature, int32_t num_args);
[[noreturn]] void ThrowArgumentType(const ExportSignature& signature, size_t index,
                                    const std::string& got);

/*! \brief Hands the exception that is being caught to tvm-ffi; returns what its calls then do. */
int SetRaised();

/*! \brief One argument; converts itself to what the function takes. */
template <typename Arg>
class ExportArgument {
 public:
  using Type = std::remove_const_t<std::remove_reference_t<Arg>>;

  ExportArgument(const TVMFFIAny* args, size_t index, const ExportSignature& signature)
      : args_(args), index_(index), signature_(signature) {}

  // Implicit: arguments are passed like this.
  operator Type() const {  // NOLINT(google-explicit-constructor)
    const auto& arg = reinterpret_cast<const ::tvm::ffi::AnyView*>(args_)[index_];
    if constexpr (std::is_same_v<Type, ::tvm::ffi::AnyView>) {
      return arg;
    } else if constexpr (std::is_same_v<Type, ::tvm::ffi::Any>) {
      return ::tvm::ffi::Any(arg);
    } else {
      std::optional<Type> value = arg.template try_cast<Type>();
      if (__builtin_expect(!value.has_value(), 0)) {
        using Traits = ::tvm::ffi::TypeTraits<Type>;
        ThrowArgumentType(signature_, index_, Traits::GetMismatchTypeInfo(args_ + index_));
      }
      return *std::move(value);
    }
  }

 private:
  const TVMFFIAny* args_;
  size_t index_;
  const ExportSignature& signature_;
};

template <typename Result, typename... Args>
struct ExportTypes {
  static constexpr std::string (*kNames[])() = {&::tvm::ffi::detail::Type2Str<Args>::v...,
                                                &::tvm::ffi::detail::Type2Str<Result>::v};
};

/*! \brief Calls an exported function with converted arguments. */
template <typename Function, typename Result, typename... Args, size_t... kIndices>
void CallWithArguments(Function&& function, const char* name, const TVMFFIAny* args,
                       int32_t num_args, [[maybe_unused]] ::tvm::ffi::Any* result,
                       ::tvm::ffi::detail::FuncFunctorImpl<Result, Args...>*,
                       std::index_sequence<kIndices...>) {
  using Info = ::tvm::ffi::detail::FuncFunctorImpl<Result, Args...>;
  static_assert(Info::unpacked_supported,
                "an exported function takes and returns what tvm-ffi converts");
  const ExportSignature signature{name, sizeof...(Args), ExportTypes<Result, Args...>::kNames};
  if (__builtin_expect(sizeof...(Args) != static_cast<size_t>(num_args), 0)) {
    ThrowArgumentCount(signature, num_args);
  }
  if constexpr (std::is_void_v<Result>) {
    function(ExportArgument<Args>(args, kIndices, signature)...);
  } else {
    *result = Result(function(ExportArgument<Args>(args, kIndices, signature)...));
  }
}

/*! \brief What an exported function's symbol does: tvm-ffi's call of it, and the check. */
template <typename Function>
int CallExported(Function&& function, const char* name, const TVMFFIAny* args, int32_t num_args,
                 TVMFFIAny* result) {
  using Info = ::tvm::ffi::detail::FunctionInfo<std::decay_t<Function>>;
  try {
    const ExportScope scope;
    auto* returned = reinterpret_cast<::tvm::ffi::Any*>(result);
    CallWithArguments(function, name, args, num_args, returned, static_cast<Info*>(nullptr),
                      std::make_index_sequence<Info::num_args>{});
    if (__builtin_expect(scope.Failed(), 0)) {
      returned->reset();  // nobody takes it from a call that has failed
      ThrowLaunchFailure();
    }
    return 0;
  } catch (...) {
    return SetRaised();
  }
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

/*! \brief "`name(0: int, 1: Tensor) -> void`", as tvm-ffi writes it. */
TVMFFI_CUBIN_COLD std::string CallText(const ExportSignature& signature) {
  std::string text = std::string("`") + signature.name + "(";
  for (size_t i = 0; i < signature.num_args; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(i) + ": " + signature.types[i]();
  }
  return text + ") -> " + signature.types[signature.num_args]() + "`";
}

[[noreturn]] TVMFFI_CUBIN_COLD void ThrowArgumentCount(const ExportSignature& signature,
                                                       int32_t num_args) {
  TVM_FFI_THROW(TypeError) << "Mismatched number of arguments when calling: " << CallText(signature)
                           << ". Expected " << signature.num_args << " but got " << num_args
                           << " arguments";
  __builtin_unreachable();
}

[[noreturn]] TVMFFI_CUBIN_COLD void ThrowArgumentType(const ExportSignature& signature,
                                                      size_t index, const std::string& got) {
  TVM_FFI_THROW(TypeError) << "Mismatched type on argument #" << index
                           << " when calling: " << CallText(signature) << ". Expected `"
                           << signature.types[index]() << "` but got `" << got << '`';
  __builtin_unreachable();
}

TVMFFI_CUBIN_COLD int SetRaised() {
  try {
    throw;
  } catch (const ::tvm::ffi::Error& error) {
    ::tvm::ffi::detail::SetSafeCallRaised(error);
  } catch (const std::exception& error) {
    ::tvm::ffi::detail::SetSafeCallRaised(::tvm::ffi::Error("InternalError", error.what(), ""));
  }
  return -1;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

// tvm-ffi's own macros use this one; what they say of metadata and docstrings stays theirs.
#undef TVM_FFI_DLL_EXPORT_TYPED_FUNC_IMPL_
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC_IMPL_(ExportName, Function)                    \
  extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_##ExportName(                          \
      void*, const TVMFFIAny* tvmffi_cubin_args, int32_t tvmffi_cubin_num_args,      \
      TVMFFIAny* tvmffi_cubin_result) {                                              \
    return ::tvmffi_cubin::CallExported(Function, #ExportName, tvmffi_cubin_args,    \
                                        tvmffi_cubin_num_args, tvmffi_cubin_result); \
  }

#endif  // TVMFFI_CUBIN_MIXED_CHECKED_EXPORT_H_
