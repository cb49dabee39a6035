#include "bound.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

int FailUnbound(const LaunchSite& site, const BoundSlot& slot, int device) {
  const Param& param = *slot.param;
  return Fail("LaunchError",
              "%s: the parameter %s (%s) of %s is not bound on device %d: call "
              "mod.bind(\"%s\", %s=...) before",
              SiteText(site).chars, param.name, param.type,
              site.function.launches[site.number].kernel->display, device, slot.function,
              param.name);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
