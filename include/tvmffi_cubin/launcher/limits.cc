#include "limits.h"

#include "../core/limits.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Raises what is over a limit. */
static int RaiseLimit(const LaunchSite& site, const EmbeddedKernel& kernel, const Text& text) {
  return Fail("LaunchLimitError", "%s: launch of %s: %s", SiteText(site).chars, kernel.display,
              text.chars);
}

int CheckValues(const LaunchSite& site, const Driver* driver, const EmbeddedKernel& kernel,
                int device, const CUlaunchConfig& config) {
  Text text;
  const LimitSearch search{driver, device, kernel.handle, config, text.chars, sizeof(text.chars)};
  return FindValueLimit(search) ? RaiseLimit(site, kernel, text) : 0;
}

int FailLimit(const LaunchSite& site, const Driver* driver, const EmbeddedKernel& kernel,
              int device, const CUlaunchConfig& config) {
  Text text;
  return FindLimit(driver, device, kernel.handle, config, text.chars, sizeof(text.chars))
             ? RaiseLimit(site, kernel, text)
             : 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
