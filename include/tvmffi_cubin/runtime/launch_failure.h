/*!
 * \file tvmffi_cubin/runtime/launch_failure.h
 * \brief A launch by `<<<...>>>` that was refused: kept for the thread until somebody takes it.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_LAUNCH_FAILURE_H_
#define TVMFFI_CUBIN_RUNTIME_LAUNCH_FAILURE_H_

#include "../core/namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief The thread's first refused launch. cudaGetLastError takes it with the error; else the
 * exported function that it happened in throws it.
 */
struct LaunchFailure {
  bool is_pending = false;
  bool is_limit = false;  // it went over a limit
  char text[1024] = "";
};
inline thread_local LaunchFailure launch_failure;

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_RUNTIME_LAUNCH_FAILURE_H_
