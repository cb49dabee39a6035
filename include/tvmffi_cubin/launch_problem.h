/*!
 * \file tvmffi_cubin/launch_problem.h
 * \brief The limit that a thread's last refused launch went over, for messages made later.
 */
#ifndef TVMFFI_CUBIN_LAUNCH_PROBLEM_H_
#define TVMFFI_CUBIN_LAUNCH_PROBLEM_H_

#include <stdint.h>

#include "driver.h"
#include "namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief A refusal and what it means; the next refusal of the same thread replaces it. */
struct LaunchProblem {
  CUresult result = CUDA_SUCCESS;  // CUDA_SUCCESS: there is none
  bool is_limit = true;            // else it is of what was to be launched, and the text says all
  uint64_t number = 0;             // what Status::limit has, never that of another refusal
  char text[512] = "";             // "launch of k: grid.y is 70000, device 0 allows 65535"
};
inline thread_local LaunchProblem launch_problem;

/*! \brief How many refusals there were, of all threads. */
inline uint64_t launch_problems = 0;

/*! \brief The limit of a refused launch; null where another launch, or thread, has the text now. */
inline const char* LimitText(const Status& status) {
  return status.limit != 0 && status.limit == launch_problem.number ? launch_problem.text : nullptr;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCH_PROBLEM_H_
