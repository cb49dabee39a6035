/*!
 * \file tvmffi_cubin/launcher/target_plan.h
 * \brief Where the launches of a function go, as its author says it: a row of a generated table.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_TARGET_PLAN_H_
#define TVMFFI_CUBIN_LAUNCHER_TARGET_PLAN_H_

#include "plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Expressions for the device's ordinal and the stream's handle; null where not said. */
struct TargetPlan {
  int64_t (*device)(struct Evaluation*);
  int64_t (*stream)(struct Evaluation*);
  int32_t pointer;  // the argument that is the stream, where it is an address; else -1
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_TARGET_PLAN_H_
