/*!
 * \file tvmffi_cubin/launcher/attributes.h
 * \brief The attributes of a launch: the caller's and the function's, and what they ask of the
 * grid.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_ATTRIBUTES_H_
#define TVMFFI_CUBIN_LAUNCHER_ATTRIBUTES_H_

#include <cuda.h>
#include <stddef.h>
#include <string.h>

#include "../core/occupancy.h"
#include "expression.h"
#include "options.h"
#include "site.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute), "laid out as the driver's");
static_assert(offsetof(LaunchAttribute, words) == offsetof(CUlaunchAttribute, value), "likewise");

/*! \brief Whether a grid has no blocks. */
inline bool IsEmpty(const CUlaunchConfig& config) {
  return config.gridDimX == 0 || config.gridDimY == 0 || config.gridDimZ == 0;
}

/*! \brief A launch's cluster: what it carries, else what the kernel fixes. */
inline ClusterShape FindCluster(const EmbeddedKernel& kernel, const CUlaunchConfig& config) {
  const auto* value = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  if (value != nullptr) return ClusterIn(value);
  return {kernel.cluster[0], kernel.cluster[1], kernel.cluster[2]};
}

/*! \brief Whether all blocks of a launch have to be resident at once. */
inline bool IsCooperative(const CUlaunchConfig& config) {
  const auto* value = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  return value != nullptr && value->cooperative != 0;
}

/*! \brief Begins the attributes of a launch with those that the caller gave. */
inline void TakeGiven(const CallOptions& options, Evaluation* evaluation) {
  const size_t count = static_cast<size_t>(options.num_attributes);
  if (count != 0) {
    memcpy(evaluation->attributes, options.attributes, count * sizeof(LaunchAttribute));
  }
  int32_t taken = 0;
  for (size_t i = 0; i < count; ++i) {
    const LaunchAttribute& given = evaluation->attributes[i];
    if (given.id < 64) evaluation->given |= UINT64_C(1) << given.id;
    // An event of 0 takes the function's own away, as in a Launch.
    const bool is_event =
        given.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT || given.id == kLaunchCompletionEvent;
    const bool is_none = is_event && given.words[0] == 0 && given.words[1] == 0;
    if (!is_none) evaluation->attributes[taken++] = given;
  }
  evaluation->num_attributes = taken;
}

/*! \brief Checks that the grid consists of whole clusters. */
__attribute__((noinline)) inline int CheckClusters(const LaunchSite& site,
                                                   const EmbeddedKernel& kernel,
                                                   const CUlaunchConfig& config) {
  const ClusterShape shape = FindCluster(kernel, config);
  const auto* preferred = FindAttribute(config, kPreferredClusterDimension);
  const uint32_t cluster[] = {shape.x, shape.y, shape.z};
  const uint32_t grid[] = {config.gridDimX, config.gridDimY, config.gridDimZ};
  if (preferred != nullptr && shape.x == 0) {
    return Fail("ValueError", "%s: preferred_cluster is given without cluster, its least size",
                SiteText(site).chars);
  }
  for (int i = 0; i < 3 && shape.x != 0; ++i) {
    const char axis = static_cast<char>('x' + i);
    if (kernel.cluster[0] != 0 && cluster[i] != kernel.cluster[i]) {
      return Fail("ValueError",
                  "%s: cluster.%c is %u, kernel %s fixes it as %u (__cluster_dims__): leave it out",
                  SiteText(site).chars, axis, cluster[i], kernel.display, kernel.cluster[i]);
    }
    const char* what = "cluster";
    uint32_t wanted = cluster[i];
    if (preferred != nullptr) {
      // The three words lie as those of clusterDim.
      const uint32_t larger = (&preferred->clusterDim.x)[i];
      if (wanted == 0 || larger == 0 || larger % wanted != 0) {
        return Fail("ValueError",
                    "%s: preferred_cluster.%c is %u, wanted a multiple of cluster.%c, %u",
                    SiteText(site).chars, axis, larger, axis, wanted);
      }
      if (i == 2 && larger != wanted) {
        return Fail("ValueError", "%s: preferred_cluster.z is %u, wanted %u as in cluster.z",
                    SiteText(site).chars, larger, wanted);
      }
      what = "preferred_cluster";
      wanted = larger;
    }
    if (wanted == 0 || grid[i] % wanted != 0) {
      return Fail("ValueError",
                  "%s: grid.%c is %u, wanted a multiple of %s.%c, %u: a grid counts blocks, with "
                  "clusters too",
                  SiteText(site).chars, axis, grid[i], what, axis, wanted);
    }
  }
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_ATTRIBUTES_H_
