/*!
 * \file tvm/ffi/extra/cuda/internal/error_text.h
 * \brief What the check macros say about an error code of either API.
 */
#ifndef TVM_FFI_EXTRA_CUDA_INTERNAL_ERROR_TEXT_H_
#define TVM_FFI_EXTRA_CUDA_INTERNAL_ERROR_TEXT_H_

#include <cuda.h>
#include <cuda_runtime.h>

#include <string>

#include "../../../../../../core/limits.h"
#include "../../../../../../runtime/error.h"

/*!
 * \brief The names that tvm-ffi's own header defines too live in a namespace of ours inside of its
 * own: objects built with the one and with the other never stand in for each other.
 */
#define TVMFFI_CUBIN_COMPAT_BEGIN_NAMESPACE inline namespace tvmffi_cubin_v0_1 {
#define TVMFFI_CUBIN_COMPAT_END_NAMESPACE }

namespace tvm {
namespace ffi {
TVMFFI_CUBIN_COMPAT_BEGIN_NAMESPACE
namespace cuda_api {

/*! \brief The driver's name of a code. */
inline const char* ErrorName(CUresult error) {
  const ::tvmffi_cubin::Driver* driver = ::tvmffi_cubin::OpenDriver();
  const char* name = nullptr;
  if (driver != nullptr) driver->cuGetErrorName(error, &name);
  if (name != nullptr) return name;
  return error == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "unrecognized error code";
}

/*! \brief The runtime's name of a code. */
inline const char* ErrorName(cudaError_t error) { return cudaGetErrorName(error); }

/*!
 * \brief "name (number): meaning", with the remedy in a forked child. A code is all that a launch
 * returns here, so the limit that the thread's last launch went over is told where that had this
 * code, once.
 */
template <typename Error>
__attribute__((noinline, cold)) std::string DescribeError(Error error) {
  std::string text = ErrorName(error);
  text += " (" + std::to_string(static_cast<int>(error)) + "): ";
  text += cudaGetErrorString(static_cast<cudaError_t>(static_cast<int>(error)));
  ::tvmffi_cubin::LaunchProblem* problem = &::tvmffi_cubin::launch_problem;
  const int refusal = static_cast<int>(problem->result);
  if (refusal != 0 && refusal == static_cast<int>(error)) {
    text += std::string("; ") + problem->text;
    problem->result = CUDA_SUCCESS;
  }
  if (::tvmffi_cubin::InForkedChild()) {
    text += ". This process was forked from one that had already used CUDA: start it with the "
            "multiprocessing method 'spawn' (or 'forkserver')";
  }
  return text;
}

}  // namespace cuda_api
TVMFFI_CUBIN_COMPAT_END_NAMESPACE
}  // namespace ffi
}  // namespace tvm

#endif  // TVM_FFI_EXTRA_CUDA_INTERNAL_ERROR_TEXT_H_
