/*!
 * \file tvmffi_cubin/launcher/prepare.h
 * \brief One launch evaluated: its configuration, and where its kernel's parameters lie.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_PREPARE_H_
#define TVMFFI_CUBIN_LAUNCHER_PREPARE_H_

#include "expression.h"
#include "launch.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Raises that of a launch's shape no block fits the device, and what is in the way. */
int FailResidency(const LaunchSite& site, const Evaluation& evaluation);

/*! \brief Raises what went wrong with an expression, or that a condition does not hold. */
TVMFFI_CUBIN_RARE int FailEvaluation(const LaunchSite& site, const Evaluation& evaluation) {
  if (evaluation.failure == kNothingFits) return FailResidency(site, evaluation);
  if (evaluation.failure == kDriverFailed) {
    return FailLaunch(site, *evaluation.kernel, evaluation.frame->device, nullptr,
                      {evaluation.result, evaluation.call});
  }
  if (evaluation.failure == kOutOfRange) {
    const char axis[] = {'.', evaluation.axis, '\0'};
    return Fail("ValueError", "%s: %s%s is %lld, wanted %lld to %lld", SiteText(site).chars,
                evaluation.where, evaluation.axis != '\0' ? axis : "",
                static_cast<long long>(evaluation.value), static_cast<long long>(evaluation.least),
                static_cast<long long>(evaluation.most));
  }
  const bool is_condition = evaluation.failure == kDoesNotHold;
  return Fail("ValueError", "%s: the %s '%s' %s", SiteText(site).chars,
              is_condition ? "condition" : "expression", evaluation.where, evaluation.failure);
}

/*! \brief Raises that a launch has no grid, no block, or neither. */
TVMFFI_CUBIN_RARE int FailShape(const LaunchSite& site, bool has_grid, bool has_block) {
  return Fail("TypeError",
              "%s: the launch has no %s: call %s%s(...), or give the function a Launch(grid=..., "
              "block=...)",
              SiteText(site).chars,
              has_grid    ? "block"
              : has_block ? "grid"
                          : "shape",
              site.function, has_block ? "[grid]" : "[grid, block]");
}

/*! \brief Raises that a block has no threads. */
TVMFFI_CUBIN_RARE int FailBlock(const LaunchSite& site, const CUlaunchConfig& config) {
  const char axis = config.blockDimX == 0 ? 'x' : config.blockDimY == 0 ? 'y' : 'z';
  return Fail("ValueError", "%s: block.%c is 0, wanted 1 to %u", SiteText(site).chars, axis,
              UINT32_MAX);
}

/*! \brief Begins the attributes of a launch with those that the caller gave. */
inline void TakeGiven(const CallOptions& options, Evaluation* evaluation) {
  for (unsigned i = 0; i < options.config.numAttrs; ++i) {
    const CUlaunchAttribute& given = options.config.attrs[i];
    const int id = given.id;
    evaluation->given |= UINT64_C(1) << (id & 63);
    // An event of 0 takes the function's own away, as in a Launch.
    const bool is_event =
        id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT || id == kLaunchCompletionEvent;
    if (is_event && given.value.programmaticEvent.event == nullptr) continue;
    evaluation->attributes[evaluation->num_attributes++] = given;
  }
}

/*!
 * \brief Evaluates one launch into its configuration and its kernel's parameters. Every call goes
 * through it, and the compiler would not inline it by itself.
 */
__attribute__((always_inline)) inline int PrepareLaunch(const CallFrame& frame, int number,
                                                        const CallOptions& options,
                                                        Evaluation* evaluation) {
  PreparedLaunch* const launch = &frame.launches[number];
  const LaunchPlan& plan = *launch->plan;
  const bool has_grid = plan.has_grid || (options.replaced >> Step::kGrid & 1) != 0;
  const bool has_block = plan.has_block || (options.replaced >> Step::kBlock & 1) != 0;
  if (__builtin_expect(!has_grid || !has_block, 0)) {
    return FailShape(frame.Site(number), has_grid, has_block);
  }
  CUlaunchConfig* const config = &launch->config;
  *config = options.config;
  config->hStream = frame.stream;
  evaluation->config = config;
  evaluation->kernel = plan.kernel;
  evaluation->num_attributes = 0;
  if (__builtin_expect(options.config.numAttrs != 0, 0)) TakeGiven(options, evaluation);
  // The conditions of one of several instances have been looked at.
  const int first = frame.function.num_instances == 1 ? 0 : plan.num_conditions;
  if (!evaluation->Do(plan.steps + first, plan.num_steps - first, options.replaced)) {
    return FailEvaluation(frame.Site(number), *evaluation);
  }
  // An empty tensor often makes grid and block zero alike: nothing is to be done.
  launch->is_empty = config->gridDimX == 0 || config->gridDimY == 0 || config->gridDimZ == 0;
  const bool has_threads =
      config->blockDimX != 0 && config->blockDimY != 0 && config->blockDimZ != 0;
  if (__builtin_expect(!has_threads && !launch->is_empty, 0)) {
    return FailBlock(frame.Site(number), *config);
  }
  config->attrs = evaluation->attributes;
  config->numAttrs = static_cast<unsigned>(evaluation->num_attributes);
  const bool is_plain = config->numAttrs == 0 && plan.kernel->cluster[0] == 0;
  if (__builtin_expect(!is_plain && !launch->is_empty, 0) &&
      CheckClusters(frame.Site(number), *plan.kernel, *config) != 0) {
    return -1;
  }
  // In registers: the compiler takes each store for one that may change the pointers.
  const Argument *const arguments = evaluation->arguments, *const computed = evaluation->computed;
  void** const params = launch->params;
  const Source* const sources = plan.sources;
  for (int i = 0, count = plan.num_sources; i < count; ++i) {
    const Source& source = sources[i];
    params[i] = source.from == Source::kArgument   ? arguments[source.index].address
                : source.from == Source::kComputed ? computed[source.index].address
                                                   : const_cast<void*>(source.data);
  }
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_PREPARE_H_
