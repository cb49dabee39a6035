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
__attribute__((cold)) Text SiteText(const LaunchSite& site);

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_SITE_H_
