/*!
 * \file tvmffi_cubin/mixed/throw.h
 * \brief TVM_FFI_THROW whose work is compiled once; included before tvm-ffi's other headers.
 *
 * tvm-ffi's own is compiled with every unit that throws, its headers' functions included: a third
 * of the time that a small unit takes.
 */
#ifndef TVMFFI_CUBIN_MIXED_THROW_H_
#define TVMFFI_CUBIN_MIXED_THROW_H_
#pragma GCC system_header

#include <tvm/ffi/error.h>

#include <sstream>

#include "../core/namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Takes an error's text, and throws it as tvm-ffi's ErrorBuilder does. */
class ErrorThrower {
 public:
  ErrorThrower(const char* kind, const TVMFFIByteArray* backtrace, bool is_logged);
  ErrorThrower(const ErrorThrower&) = delete;
  ErrorThrower& operator=(const ErrorThrower&) = delete;
  [[noreturn]] ~ErrorThrower() noexcept(false);

  std::ostringstream& stream() { return stream_; }

 private:
  const char* kind_;
  std::string backtrace_;
  bool is_logged_;
  std::ostringstream stream_;
};

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD ErrorThrower::ErrorThrower(const char* kind, const TVMFFIByteArray* backtrace,
                                             bool is_logged)
    : kind_(kind), backtrace_(backtrace->data, backtrace->size), is_logged_(is_logged) {}

TVMFFI_CUBIN_COLD ErrorThrower::~ErrorThrower() noexcept(false) {
  ::tvm::ffi::detail::ErrorBuilder(kind_, backtrace_, is_logged_).stream() << stream_.str();
  __builtin_unreachable();
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#undef TVM_FFI_THROW
#define TVM_FFI_THROW(ErrorKind)                                                         \
  ::tvmffi_cubin::ErrorThrower(#ErrorKind,                                               \
                               TVMFFIBacktrace(__FILE__, __LINE__, TVM_FFI_FUNC_SIG, 0), \
                               TVM_FFI_ALWAYS_LOG_BEFORE_THROW)                          \
      .stream()

#undef TVM_FFI_LOG_AND_THROW
#define TVM_FFI_LOG_AND_THROW(ErrorKind)                                                       \
  ::tvmffi_cubin::ErrorThrower(#ErrorKind,                                                     \
                               TVMFFIBacktrace(__FILE__, __LINE__, TVM_FFI_FUNC_SIG, 0), true) \
      .stream()

#endif  // TVMFFI_CUBIN_MIXED_THROW_H_
