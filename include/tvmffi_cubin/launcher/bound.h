/*!
 * \file tvmffi_cubin/launcher/bound.h
 * \brief Launches whose kernels take what was bound.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_BOUND_H_
#define TVMFFI_CUBIN_LAUNCHER_BOUND_H_

#include "../core/bound.h"
#include "error.h"
#include "plan.h"
#include "site.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Raises that a parameter which has to be bound is not. */
__attribute__((cold)) int FailUnbound(const LaunchSite& site, const BoundSlot& slot, int device);

/*!
 * \brief Points the parameters of all launches of a call at what is bound on its device. The
 * table's gate is used for as long as they are.
 */
inline int FillBound(const FunctionPlan& function, int device, void** params) {
  for (int i = 0; i < function.num_launches; ++i) {
    const LaunchPlan& launch = function.launches[i];
    for (int k = 0; k < launch.num_sources; ++k) {
      if (launch.sources[k].from != Source::kBound) continue;
      const BoundSlot& slot = function.bound->slots[launch.sources[k].index];
      const void* value = slot.Find(device);
      if (value == nullptr) {
        if (slot.required) return FailUnbound({function, i, false}, slot, device);
        value = slot.zeros;
      }
      params[k] = const_cast<void*>(value);
    }
    params += launch.num_sources;
  }
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_BOUND_H_
