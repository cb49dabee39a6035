/*!
 * \file tvmffi_cubin/runtime/occupancy.h
 * \brief cudaOccupancy* over the driver; cuda_runtime.h makes the rest of them.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_OCCUPANCY_H_
#define TVMFFI_CUBIN_RUNTIME_OCCUPANCY_H_

#include "../core/limits.h"
#include "launch.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuOccupancyAvailableDynamicSMemPerBlock, 10020)

inline CUfunction AsFunction(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                       int block_size, size_t dynamic_smem_bytes,
                                                       unsigned int flags) {
  return tvmffi_cubin::CallWithKernel(function, [&](CUkernel kernel) {
    return tvmffi_cubin::entry::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, tvmffi_cubin::AsFunction(kernel), block_size, dynamic_smem_bytes, flags);
  });
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_size,
                                              size_t dynamic_smem_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, function, block_size, dynamic_smem_bytes, cudaOccupancyDefault);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaOccupancyAvailableDynamicSMemPerBlock(size_t* dynamic_smem_bytes, const void* function,
                                          int blocks, int block_size) {
  return tvmffi_cubin::CallWithKernel(function, [&](CUkernel kernel) {
    return tvmffi_cubin::entry::cuOccupancyAvailableDynamicSMemPerBlock(
        dynamic_smem_bytes, tvmffi_cubin::AsFunction(kernel), blocks, block_size);
  });
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaOccupancyMaxPotentialClusterSize(int* cluster_size, const void* function,
                                     const cudaLaunchConfig_t* config) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, config)) return error;
  return tvmffi_cubin::CallWithKernel(function, [&](CUkernel kernel) {
    const CUlaunchConfig converted = tvmffi_cubin::ToDriverConfig(*config);
    return tvmffi_cubin::entry::cuOccupancyMaxPotentialClusterSize(
        cluster_size, tvmffi_cubin::AsFunction(kernel), &converted);
  });
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                               const cudaLaunchConfig_t* config) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, config)) return error;
  return tvmffi_cubin::CallWithKernel(function, [&](CUkernel kernel) {
    const CUlaunchConfig converted = tvmffi_cubin::ToDriverConfig(*config);
    return tvmffi_cubin::entry::cuOccupancyMaxActiveClusters(
        clusters, tvmffi_cubin::AsFunction(kernel), &converted);
  });
}

#endif  // TVMFFI_CUBIN_RUNTIME_OCCUPANCY_H_
