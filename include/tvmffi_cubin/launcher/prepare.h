/*!
 * \file tvmffi_cubin/launcher/prepare.h
 * \brief One launch evaluated: its configuration and where its kernel's parameters lie.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_PREPARE_H_
#define TVMFFI_CUBIN_LAUNCHER_PREPARE_H_

#include "attributes.h"
#include "options.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief One grid, block or shared memory figure as the driver takes it. */
inline int CheckFigure(const LaunchSite& site, const char* what, int64_t value, int64_t least,
                       uint32_t* out) {
  if (__builtin_expect(value < least, 0)) {
    return Fail("ValueError", "%s: %s is %lld, wanted %lld or more", SiteText(site).chars, what,
                static_cast<long long>(value), static_cast<long long>(least));
  }
  if (__builtin_expect(value > UINT32_MAX, 0)) {
    return Fail("LaunchLimitError", "%s: %s is %lld, the driver takes at most %u",
                SiteText(site).chars, what, static_cast<long long>(value), UINT32_MAX);
  }
  *out = static_cast<uint32_t>(value);
  return 0;
}

/*! \brief Checks an evaluated shape; leaves 0 in a grid dimension where nothing is to be done. */
inline int FillConfig(const LaunchSite& site, const Evaluation& shape, CUlaunchConfig* config) {
  if (CheckFigure(site, "grid.x", shape.grid[0], 0, &config->gridDimX) != 0 ||
      CheckFigure(site, "grid.y", shape.grid[1], 0, &config->gridDimY) != 0 ||
      CheckFigure(site, "grid.z", shape.grid[2], 0, &config->gridDimZ) != 0) {
    return -1;
  }
  // An empty tensor often makes grid and block zero alike; then there is nothing to launch.
  const int64_t least = IsEmpty(*config) ? 0 : 1;
  if (CheckFigure(site, "block.x", shape.block[0], least, &config->blockDimX) != 0 ||
      CheckFigure(site, "block.y", shape.block[1], least, &config->blockDimY) != 0 ||
      CheckFigure(site, "block.z", shape.block[2], least, &config->blockDimZ) != 0 ||
      CheckFigure(site, "dynamic_smem_bytes", shape.dynamic_smem_bytes, 0,
                  &config->sharedMemBytes) != 0) {
    return -1;
  }
  return 0;
}

/*! \brief Raises what went wrong with an expression, or that a condition does not hold. */
__attribute__((cold)) int FailEvaluation(const LaunchSite& site, const Evaluation& evaluation);

/*! \brief Raises that a launch has no grid, no block, or neither. */
__attribute__((cold)) int FailShape(const LaunchSite& site, bool has_grid);

/*!
 * \brief Evaluates one launch into its configuration and its kernel parameters. Every call goes
 * through it, and the compiler would not inline it by itself.
 */
__attribute__((always_inline)) inline int PrepareLaunch(const LaunchSite& site,
                                                        const CallOptions& options,
                                                        Evaluation* evaluation, void** params,
                                                        CUlaunchConfig* config) {
  const LaunchPlan& launch = site.function.launches[site.number];
  const bool has_grid = launch.has_grid || options.has_grid;
  if (__builtin_expect(!has_grid || !(launch.has_block || options.has_block), 0)) {
    return FailShape(site, has_grid);
  }
  for (int i = 0; i < 3; ++i) {
    evaluation->grid[i] = options.grid[i];
    evaluation->block[i] = options.block[i];
  }
  evaluation->dynamic_smem_bytes = options.dynamic_smem_bytes;
  if (launch.evaluate != nullptr) {
    launch.evaluate(evaluation, !options.has_grid, !options.has_block, !options.has_smem);
  }
  if (__builtin_expect(evaluation->failure != nullptr, 0)) {
    return FailEvaluation(site, *evaluation);
  }
  if (FillConfig(site, *evaluation, config) != 0) return -1;
  if (__builtin_expect(evaluation->num_attributes != 0 || launch.kernel->cluster[0] != 0, 0)) {
    config->attrs = reinterpret_cast<CUlaunchAttribute*>(evaluation->attributes);
    config->numAttrs = static_cast<unsigned>(evaluation->num_attributes);
    if (!IsEmpty(*config) && CheckClusters(site, *launch.kernel, *config) != 0) return -1;
  }
  for (int i = 0; i < launch.num_sources; ++i) {
    const Source& source = launch.sources[i];
    params[i] = source.from == Source::kArgument   ? evaluation->arguments[source.index].address
                : source.from == Source::kComputed ? evaluation->computed[source.index].address
                                                   : const_cast<void*>(source.constant);
  }
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_PREPARE_H_
