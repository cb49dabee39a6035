#include "prepare.h"

#include "../core/limits.h"
#include "failure.h"
#include "image_use.h"
#include "occupancy.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Raises that of a launch's shape no block fits the device, and what is in the way. */
static int FailResidency(const LaunchSite& site, const Evaluation& evaluation) {
  const EmbeddedKernel& kernel = *evaluation.kernel;
  ImageUse use(evaluation.kernel->image);
  CUlaunchConfig config;
  Text text;
  FillForOccupancy(evaluation, &config);
  const ClusterShape cluster = FindCluster(kernel, config);
  config.gridDimX = cluster.x == 0 ? 1 : cluster.x;
  config.gridDimY = cluster.y == 0 ? 1 : cluster.y;
  config.gridDimZ = cluster.z == 0 ? 1 : cluster.z;
  if (!FindLimit(OpenDriver(), evaluation.device, kernel.handle, config, text.chars,
                 sizeof(text.chars))) {
    snprintf(text.chars, sizeof(text.chars), "no grid of this shape is resident on device %d",
             evaluation.device);
  }
  return Fail("LaunchLimitError", "%s: launch of %s: max_cooperative_blocks is 0: %s",
              SiteText(site).chars, kernel.display, text.chars);
}

int FailEvaluation(const LaunchSite& site, const Evaluation& evaluation) {
  if (evaluation.failure == kOutOfRange) {
    const char axis[] = {'.', evaluation.axis, '\0'};
    return Fail("ValueError", "%s: %s%s is %lld, wanted %lld to %lld", SiteText(site).chars,
                evaluation.where, evaluation.axis != '\0' ? axis : "",
                static_cast<long long>(evaluation.value), static_cast<long long>(evaluation.least),
                static_cast<long long>(evaluation.most));
  }
  if (evaluation.failure == kNothingFits) return FailResidency(site, evaluation);
  if (evaluation.failure == kDriverFailed) {
    const Status status = {static_cast<CUresult>(evaluation.driver_result), evaluation.driver_call};
    return FailLaunch(site, *evaluation.kernel, evaluation.device, nullptr, status);
  }
  const bool is_condition = evaluation.failure == kDoesNotHold;
  return Fail("ValueError", "%s: the %s '%s' %s", SiteText(site).chars,
              is_condition ? "condition" : "expression", evaluation.where, evaluation.failure);
}

int FailShape(const LaunchSite& site, bool has_grid) {
  const char* name = site.function.name;
  if (!has_grid && site.function.launches[site.number].has_block) {
    return Fail("TypeError",
                "%s: the launch has no grid: call %s[grid](...), or give the function a "
                "Launch(grid=..., block=...)",
                SiteText(site).chars, name);
  }
  return Fail("TypeError",
              "%s: the launch has no %s: call %s[grid, block](...), or give the function a "
              "Launch(grid=..., block=...)",
              SiteText(site).chars, has_grid ? "block" : "shape", name);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
