/*!
 * \file tvmffi_cubin/check_driver.h
 * \brief CheckDriver: a driver call that failed becomes an exception, LaunchError in Python.
 */
#pragma once

#include <tvm/ffi/error.h>

#include <string>

#include "core/limits.h"

TVMFFI_CUBIN_BEGIN

/*!
 * \brief "limit: cuX failed: CUDA_ERROR_Y (n): text". The limit is told in the thread that
 * launched, until its next refused launch.
 */
std::string StatusText(const Status& status);

/*!
 * \brief Throws a LaunchError with `what` before the driver's own words; a LaunchLimitError where
 * a launch went over a limit.
 */
[[noreturn]] void ThrowLaunchError(const Status& status, const std::string& what = "");

/*!
 * \brief Why the driver refuses an image: for which architectures it is, or which CUDA made it;
 * `otherwise` where its answer is about something else.
 */
std::string DescribeImageError(const Status& status, const ImageFacts& facts,
                               const std::string& otherwise);

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

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD std::string StatusText(const Status& status) {
  char text[1024];
  DescribeStatus(status, text, sizeof(text));
  const bool is_told = status.is_limit && status.result == launch_problem.result;
  return is_told ? std::string(launch_problem.text) + ": " + text : text;
}

[[noreturn]] TVMFFI_CUBIN_COLD void ThrowLaunchError(const Status& status,
                                                     const std::string& what) {
  const std::string text = what + (what.empty() ? "" : ": ") + StatusText(status);
  if (status.is_limit) TVM_FFI_THROW(LaunchLimitError) << text;
  TVM_FFI_THROW(LaunchError) << text;
  __builtin_unreachable();
}

TVMFFI_CUBIN_COLD std::string DescribeImageError(const Status& status, const ImageFacts& facts,
                                                 const std::string& otherwise) {
  char text[640];
  if (DescribeRefusal(status.result, facts, CurrentDevice(), text, sizeof(text))) {
    return "the image " + std::string(text);
  }
  if (status.result == CUDA_ERROR_INVALID_IMAGE) {
    return "the image is neither a cubin, a fatbin nor PTX, or damaged";
  }
  if (!IsCaptureRefusal(status.result)) return otherwise;
  return otherwise + " while a CUDA graph is captured (get the kernel before)";
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END
