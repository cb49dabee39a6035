/*!
 * \file tvmffi_cubin/launcher/tensor_map_plan.h
 * \brief One tensor map of a launch: a row of a generated table.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_TENSOR_MAP_PLAN_H_
#define TVMFFI_CUBIN_LAUNCHER_TENSOR_MAP_PLAN_H_

#include "../core/tensor_map_spec.h"
#include "expression.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief A kernel parameter that is a tensor's map. */
struct TensorMapPlan {
  const char* name;                               // of the kernel's parameter
  int32_t argument;                               // the tensor
  TensorMapSpec spec;                             // with zeros where expressions give the figures
  void (*evaluate)(Evaluation*, TensorMapSpec*);  // those; null where there are none
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_TENSOR_MAP_PLAN_H_
