/*!
 * \file tvmffi_cubin/check_driver.h
 * \brief CheckDriver: a driver call that failed becomes an exception, LaunchError in Python.
 */
#pragma once

#include <tvm/ffi/error.h>

#include "core/limits.h"

TVMFFI_CUBIN_BEGIN

/*! \brief Throws an error of a kind with a printf-formatted text: a stream would compile slowly. */
[[noreturn]] __attribute__((format(printf, 2, 3))) void Throw(const char* kind,
                                                              const char* format, ...);

/*!
 * \brief Throws a LaunchError, or a LaunchLimitError where a launch went over a limit, which is told
 * in the thread that launched, until its next refused launch: "limit: cuX failed: CUDA_ERROR_Y (n):
 * text".
 * \param what Stands before that.
 */
[[noreturn]] void ThrowLaunchError(const Status& status, const char* what = "");

/*! \brief Throws a LaunchError, or a LaunchLimitError, unless the call succeeded. */
inline void CheckDriver(const Status& status) {
  if (__builtin_expect(!status.ok(), 0)) ThrowLaunchError(status);
}

/*!
 * \brief The same for a bare result.
 * \param result What a driver call returned.
 * \param call Its name, for the message.
 */
inline void CheckDriver(CUresult result, const char* call = "a CUDA driver call") {
  CheckDriver(Status{result, call});
}

/*! \brief Opens the driver; throws a LaunchError that says why where there is none. */
inline void RequireDriver() {
  if (!OpenDriver()) ThrowLaunchError({CUDA_ERROR_NO_DEVICE, "cuInit"});
}

/*!
 * \brief Writes what is wrong with an image that the driver refuses to load, or that has no kernel
 * `name`: for which architectures it is, which CUDA made it, which kernels it has.
 */
void DescribeImageError(const Status& status, const Library& library, const ImageFacts& facts,
                        const char* name, char* text, size_t size);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

[[noreturn]] TVMFFI_CUBIN_COLD void Throw(const char* kind, const char* format, ...) {
  char text[4096];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  throw ::tvm::ffi::Error(kind, text, TVMFFIBacktrace(nullptr, 0, nullptr, 0));
}

[[noreturn]] TVMFFI_CUBIN_COLD void ThrowLaunchError(const Status& status, const char* what) {
  char text[1024];
  DescribeStatus(status, text, sizeof(text));
  if (status.is_limit && status.result == launch_problem.result) what = launch_problem.text;
  Throw(status.is_limit ? "LaunchLimitError" : "LaunchError", "%s%s%s", what,
        what[0] == '\0' ? "" : ": ", text);
}

TVMFFI_CUBIN_COLD void DescribeImageError(const Status& status, const Library& library,
                                          const ImageFacts& facts, const char* name, char* text,
                                          size_t size) {
  char found[2048];
  if (DescribeRefusal(status.result, facts, CurrentDevice(), found, sizeof(found))) {
    snprintf(text, size, "the image %s", found);
  } else if (status.result == CUDA_ERROR_INVALID_IMAGE) {
    snprintf(text, size, "the image is neither a cubin, a fatbin nor PTX, or damaged");
  } else if (library.handle == nullptr) {
    snprintf(text, size, "the image cannot be loaded");
  } else {
    ListKernels(library.handle, found, sizeof(found));
    snprintf(text, size, "the image has no kernel '%s'; it has %s", name, found);
  }
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END
