/*!
 * \file tvmffi_cubin/runtime/error.h
 * \brief cudaError_t over the driver: conversions, names, and the thread's last error.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_ERROR_H_
#define TVMFFI_CUBIN_RUNTIME_ERROR_H_

#include "own_symbols.h"

// Where this header comes first, CUDA's must not include it again.
#define TVMFFI_CUBIN_DECLARE_RUNTIME
#include <cuda_runtime_api.h>
#undef TVMFFI_CUBIN_DECLARE_RUNTIME

#include "../core/driver.h"
#include "error_names.h"
#include "launch_failure.h"

/*!
 * \brief Defines a function that CUDA's header declares. Hidden, so that it neither stands in for
 * the libcudart of another library in the process, nor that one's for it.
 */
#ifdef TVMFFI_CUBIN_COLD_KEPT
#define TVMFFI_CUBIN_RUNTIME(type) extern "C" __attribute__((visibility("hidden"), weak)) type
#else
#define TVMFFI_CUBIN_RUNTIME(type) extern "C" inline __attribute__((visibility("hidden"))) type
#endif

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What the calling thread's last failed call returned. */
inline thread_local cudaError_t last_runtime_error = cudaSuccess;

/*! \brief The runtime's code for the driver's: the two share their numbers. */
constexpr cudaError_t ToRuntime(CUresult result) {
  return static_cast<cudaError_t>(static_cast<int>(result));
}

/*! \brief The driver's code for the runtime's, of which some mean nothing to the driver. */
constexpr CUresult ToDriver(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidSymbol:
      return CUDA_ERROR_NOT_FOUND;
    case cudaErrorInvalidDeviceFunction:
      return CUDA_ERROR_INVALID_HANDLE;
    case cudaErrorInsufficientDriver:
      return CUDA_ERROR_NO_DEVICE;
    case cudaErrorIncompatibleDriverContext:
      return CUDA_ERROR_INVALID_CONTEXT;
    case cudaErrorStartupFailure:
    case cudaErrorApiFailureBase:
      return CUDA_ERROR_UNKNOWN;
    case cudaErrorStubLibrary:
    case cudaErrorDevicesUnavailable:
      break;
    default:
      if (error > cudaErrorProfilerAlreadyStopped && error < cudaErrorInvalidDeviceFunction) {
        return CUDA_ERROR_INVALID_VALUE;
      }
  }
  return static_cast<CUresult>(static_cast<int>(error));
}

/*! \brief Notes a failure for cudaGetLastError and returns it as the runtime's code. */
inline cudaError_t NoteRuntimeError(CUresult result) {
  const cudaError_t error = ToRuntime(result);
  if (__builtin_expect(error != cudaSuccess, 0)) last_runtime_error = error;
  return error;
}

/*! \brief The same of the runtime's own code. */
inline cudaError_t NoteError(cudaError_t error) {
  if (error != cudaSuccess) last_runtime_error = error;
  return error;
}

/*! \brief Whether a call was given nothing where it reads or writes; that is noted. */
template <typename... T>
bool IsNull(cudaError_t* error, const T*... pointers) {
  const bool found = ((pointers == nullptr) || ...);
  *error = found ? NoteError(cudaErrorInvalidValue) : cudaSuccess;
  return found;
}

/*! \brief The driver's text for a code; why there is no driver, where there is none. */
__attribute__((cold)) inline const char* ErrorMeaning(CUresult result) {
  if (!OpenDriver()) return result == CUDA_SUCCESS ? "no error" : DriverProblem();
  const char* text = nullptr;
  entry::cuGetErrorString(result, &text);
  return text != nullptr ? text : "unrecognized error code";
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(__attribute__((noinline, cold)) const char*)
cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
#define TVMFFI_CUBIN_NAME_ERROR(name) \
  case cudaError##name:               \
    return "cudaError" #name;
      TVMFFI_CUBIN_RUNTIME_ERRORS(TVMFFI_CUBIN_NAME_ERROR)
#undef TVMFFI_CUBIN_NAME_ERROR
    default:
      return "unrecognized error code";
  }
}

TVMFFI_CUBIN_RUNTIME(const char*) cudaGetErrorString(cudaError_t error) {
  switch (error) {  // the driver says less of these
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInvalidDeviceFunction:
      return "invalid device function";
    case cudaErrorInvalidSymbol:
      return "invalid device symbol";
    case cudaErrorMissingConfiguration:
      return "__global__ function call is not configured";
    default:
      break;
  }
  return tvmffi_cubin::ErrorMeaning(tvmffi_cubin::ToDriver(error));
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaPeekAtLastError(void) {
  return tvmffi_cubin::last_runtime_error;
}

TVMFFI_CUBIN_RUNTIME(cudaError_t) cudaGetLastError(void) {
  const cudaError_t error = tvmffi_cubin::last_runtime_error;
  tvmffi_cubin::last_runtime_error = cudaSuccess;
  tvmffi_cubin::launch_failure.is_pending = false;
  return error;
}

#endif  // TVMFFI_CUBIN_RUNTIME_ERROR_H_
