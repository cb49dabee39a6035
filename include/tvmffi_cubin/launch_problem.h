/*!
 * \file tvmffi_cubin/launch_problem.h
 * \brief The limit that a thread's last refused launch went over, for messages made later.
 */
#ifndef TVMFFI_CUBIN_LAUNCH_PROBLEM_H_
#define TVMFFI_CUBIN_LAUNCH_PROBLEM_H_

#include <cuda.h>

#include "namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief A refusal and what it means; the next refusal of the same thread replaces it. */
struct LaunchProblem {
  CUresult result = CUDA_SUCCESS;  // CUDA_SUCCESS: there is none
  char text[512] = "";             // "launch of k: grid.y is 70000, device 0 allows 65535"
};
inline thread_local LaunchProblem launch_problem;

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCH_PROBLEM_H_
