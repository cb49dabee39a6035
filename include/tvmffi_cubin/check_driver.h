// CheckDriver: a driver call that failed becomes an exception, LaunchError in Python.
#pragma once

#include <tvm/ffi/error.h>

#include "core/limits.h"

TVMFFI_CUBIN_BEGIN

/// Throws an error of a kind with a printf-formatted text: a stream would compile slowly.
[[noreturn]] __attribute__((format(printf, 2, 3))) TVMFFI_CUBIN_COLD void Throw(const char* kind,
                                                                                const char* format,
                                                                                ...) {
  Text text;
  va_list values;
  va_start(values, format);
  text.AddList(format, values);
  va_end(values);
  throw ::tvm::ffi::Error(kind, text.chars, TVMFFIBacktrace(nullptr, 0, nullptr, 0));
}

/// Throws a LaunchError, or a LaunchLimitError where a launch went over a limit, which is told in
/// the thread that launched, until its next refused launch: "limit: cuX failed: CUDA_ERROR_Y (n):
/// text".
/// \param what Stands before that.
[[noreturn]] TVMFFI_CUBIN_COLD void ThrowLaunchError(const Status& status, const char* what = "") {
  const bool is_limit = status.call == kLaunchCall && status.result == launch_problem.result;
  if (is_limit) what = launch_problem.text;
  Throw(is_limit ? "LaunchLimitError" : "LaunchError", "%s%s%s", what, what[0] == '\0' ? "" : ": ",
        DescribeStatus(status).chars);
}

/// Throws a LaunchError, or a LaunchLimitError, unless the call succeeded.
inline void CheckDriver(const Status& status) {
  if (__builtin_expect(!status.ok(), 0)) ThrowLaunchError(status);
}

/// The same for a bare result.
/// \param result What a driver call returned.
/// \param call Its name, for the message.
inline void CheckDriver(CUresult result, const char* call = "a CUDA driver call") {
  CheckDriver(Status{result, call});
}

TVMFFI_CUBIN_END
