/*!
 * \file tvmffi_cubin/cluster.h
 * \brief The clusters that a launch configuration asks for, read from its attributes.
 */
#ifndef TVMFFI_CUBIN_CLUSTER_H_
#define TVMFFI_CUBIN_CLUSTER_H_

#include <cuda.h>
#include <stdint.h>

#include "namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION by number: headers before CUDA 12.8 lack
 * it, and what is built with them may meet a newer driver. Its value is laid out as `clusterDim`.
 */
constexpr CUlaunchAttributeID kPreferredClusterDimension = static_cast<CUlaunchAttributeID>(11);

/*! \brief Likewise LAUNCH_COMPLETION_EVENT and PREFERRED_SHARED_MEMORY_CARVEOUT. */
constexpr CUlaunchAttributeID kLaunchCompletionEvent = static_cast<CUlaunchAttributeID>(12);
constexpr CUlaunchAttributeID kSharedMemCarveout = static_cast<CUlaunchAttributeID>(14);

/*! \brief The product of three sizes, UINT64_MAX where it is beyond 64 bits. */
inline uint64_t Volume(uint32_t x, uint32_t y, uint32_t z) {
  uint64_t volume = 0;
  return __builtin_mul_overflow(uint64_t{x} * y, uint64_t{z}, &volume) ? UINT64_MAX : volume;
}

/*! \brief Blocks of a cluster along each dimension; all 0: no cluster. */
struct ClusterShape {
  uint32_t x = 0, y = 0, z = 0;

  /*! \brief Blocks in the cluster. */
  uint64_t Blocks() const { return Volume(x, y, z); }
};

/*! \brief An attribute of a launch; null where it has none. */
inline const CUlaunchAttributeValue* FindAttribute(const CUlaunchConfig& config,
                                                   CUlaunchAttributeID id) {
  if (config.attrs == nullptr) return nullptr;
  for (unsigned i = config.numAttrs; i > 0; --i) {
    if (config.attrs[i - 1].id == id) return &config.attrs[i - 1].value;
  }
  return nullptr;
}

/*! \brief The cluster in an attribute's value; none where that is null. */
inline ClusterShape ClusterIn(const CUlaunchAttributeValue* value) {
  if (value == nullptr) return {};
  return {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
}

/*! \brief Blocks of the largest cluster that a launch asks for, the preferred one included. */
inline uint64_t LargestClusterBlocks(const CUlaunchConfig& config) {
  if (__builtin_expect(config.numAttrs == 0, 1)) return 0;
  const uint64_t regular =
      ClusterIn(FindAttribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)).Blocks();
  const uint64_t preferred = ClusterIn(FindAttribute(config, kPreferredClusterDimension)).Blocks();
  return regular > preferred ? regular : preferred;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CLUSTER_H_
