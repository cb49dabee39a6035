#include "site.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

Text SiteText(const LaunchSite& site) {
  Text text;
  const FunctionPlan& function = site.function;
  if (function.num_launches == 1) {
    snprintf(text.chars, sizeof(text.chars), "%s", function.name);
    return text;
  }
  char before[48] = "";
  if (site.is_under_way && site.number == 1) {
    snprintf(before, sizeof(before), " (the one before it went ahead)");
  } else if (site.is_under_way && site.number > 1) {
    snprintf(before, sizeof(before), " (the %d before it went ahead)", site.number);
  }
  snprintf(text.chars, sizeof(text.chars), "%.200s: launch %d of %d%s", function.name,
           site.number + 1, function.num_launches, before);
  return text;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
