/*!
 * \file tvmffi_cubin/launcher/site.h
 * \brief Which launch of which function an error is about.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_SITE_H_
#define TVMFFI_CUBIN_LAUNCHER_SITE_H_

#include "error.h"
#include "plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief One launch of a function. */
struct LaunchSite {
  const FunctionPlan& function;
  int number;         // of the launch, from 0
  bool is_under_way;  // the launches before it went ahead
};

/*! \brief "f", and of several launches "f: launch 2 of 3 (the one before it went ahead)". */
__attribute__((noinline, cold)) inline Text SiteText(const LaunchSite& site) {
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

#endif  // TVMFFI_CUBIN_LAUNCHER_SITE_H_
