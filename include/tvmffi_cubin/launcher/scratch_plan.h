/*!
 * \file tvmffi_cubin/launcher/scratch_plan.h
 * \brief The rows of a generated launcher's scratch memory.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_SCRATCH_PLAN_H_
#define TVMFFI_CUBIN_LAUNCHER_SCRATCH_PLAN_H_

#include "plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Memory that a kernel parameter points to, for the length of one launch. */
struct ScratchPlan {
  const char* name;  // the kernel parameter's
  uint32_t align;    // what its address is a multiple of; a power of two
  int64_t bytes;
  int64_t bytes_per_block;
  // Gives what of the two is an expression; null where neither is.
  void (*evaluate)(struct Evaluation*, int64_t* bytes, int64_t* bytes_per_block);
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_SCRATCH_PLAN_H_
