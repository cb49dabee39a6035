/*!
 * \file tvmffi_cubin/launcher/tensor_maps.h
 * \brief The tensor maps of a call, made anew of the tensors that it is given.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_TENSOR_MAPS_H_
#define TVMFFI_CUBIN_LAUNCHER_TENSOR_MAPS_H_

#include "../core/device.h"
#include "../core/tensor_map_encode.h"
#include "failure.h"
#include "image_use.h"
#include "map_extents.h"
#include "prepare.h"
#include "tensor_map_plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Evaluates and makes one map. */
inline int EncodeMap(const LaunchSite& site, const TensorMapPlan& plan, Evaluation* evaluation,
                     CUtensorMap* map) {
  TensorMapSpec spec = plan.spec;
  TensorMapProblem problem;
  if (plan.evaluate != nullptr) plan.evaluate(evaluation, &spec);
  if (evaluation->failure != nullptr) return FailEvaluation(site, *evaluation);
  const Argument& given = evaluation->arguments[plan.argument];
  TensorMapMemory memory;
  const bool is_described = spec.num_global_dims != 0
                                ? DescribeExtents(spec, given, &memory, &problem)
                                : DescribeMemory(spec, *given.tensor, &memory, &problem);
  if (__builtin_expect(is_described && EncodeTensorMap(spec, memory, map, &problem), 1)) return 0;
  const char* name = site.function.params[plan.argument].name;
  const Text label = SiteText(site);
  return strcmp(name, plan.name) == 0
             ? Fail(problem.kind, "%s: tensor map %s: %s", label.chars, name, problem.text)
             : Fail(problem.kind, "%s: tensor map %s of %s: %s", label.chars, plan.name, name,
                    problem.text);
}

/*!
 * \brief Makes the maps of all launches that have blocks, before the first of them is launched.
 * \param params The kernel parameters of all launches; those that are maps are set.
 * \param maps Room for all, as the driver wants it aligned.
 */
__attribute__((noinline)) inline int EncodeMaps(const FunctionPlan& function, const Driver* driver,
                                                const CUlaunchConfig* configs,
                                                Evaluation* evaluation, void** params,
                                                CUtensorMap* maps) {
  // No expression of a map asks for a kernel's occupancy, which would be another use.
  ImageUse use(function.launches[0].kernel->image);
  DeviceScope scope;
  const Status status = scope.Enter(driver, evaluation->device);
  if (!status.ok()) {
    const EmbeddedKernel& kernel = *function.launches[0].kernel;
    return FailLaunch({function, 0, false}, kernel, evaluation->device, nullptr, status);
  }
  for (int i = 0; i < function.num_launches; ++i) {
    const LaunchPlan& launch = function.launches[i];
    // An empty tensor has no map, and mostly gives an empty grid.
    for (int k = 0; k < launch.num_sources && !IsEmpty(configs[i]); ++k) {
      const Source& source = launch.sources[k];
      if (source.from != Source::kTensorMap) continue;
      const auto& plan = *static_cast<const TensorMapPlan*>(source.constant);
      if (EncodeMap({function, i, false}, plan, evaluation, maps) != 0) return -1;
      params[k] = maps++;
    }
    params += launch.num_sources;
  }
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_TENSOR_MAPS_H_
