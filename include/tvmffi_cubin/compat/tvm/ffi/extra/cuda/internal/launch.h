/*!
 * \file tvm/ffi/extra/cuda/internal/launch.h
 * \brief cuda_api's launches, with the configuration structs of both APIs.
 */
#ifndef TVM_FFI_EXTRA_CUDA_INTERNAL_LAUNCH_H_
#define TVM_FFI_EXTRA_CUDA_INTERNAL_LAUNCH_H_

#include "unified_api.h"

namespace tvm {
namespace ffi {
TVMFFI_CUBIN_COMPAT_BEGIN_NAMESPACE
namespace cuda_api {

/*! \brief A driver configuration without attributes. */
inline CUlaunchConfig MakeConfig(tvm::ffi::dim3 grid, tvm::ffi::dim3 block, StreamHandle stream,
                                 uint32_t smem_size) {
  CUlaunchConfig config{};
  config.gridDimX = grid.x;
  config.gridDimY = grid.y;
  config.gridDimZ = grid.z;
  config.blockDimX = block.x;
  config.blockDimY = block.y;
  config.blockDimZ = block.z;
  config.sharedMemBytes = smem_size;
  config.hStream = stream;
  return config;
}

inline ResultType LaunchKernelEx(KernelHandle kernel, void** args, const CUlaunchConfig& config) {
  // What it is refused for is not looked up here, and an earlier launch's limit is none of its.
  ::tvmffi_cubin::launch_problem.result = CUDA_SUCCESS;
  return CallDriver([&](const ::tvmffi_cubin::Driver* driver) {
    return ::tvmffi_cubin::DispatchHandle(driver, kernel, config, args).result;
  });
}

inline ResultType LaunchKernelEx(KernelHandle kernel, void** args,
                                 const cudaLaunchConfig_t& config) {
  return LaunchKernelEx(kernel, args, ::tvmffi_cubin::ToDriverConfig(config));
}

inline ResultType LaunchKernel(KernelHandle kernel, void** args, tvm::ffi::dim3 grid,
                               tvm::ffi::dim3 block, StreamHandle stream,
                               uint32_t dyn_smem_bytes = 0) {
  return LaunchKernelEx(kernel, args, MakeConfig(grid, block, stream, dyn_smem_bytes));
}

/*!
 * \brief Fills a configuration in.
 * \param kernel The kernel that it is for.
 * \param stream The stream.
 * \param smem_size Dynamic shared memory in bytes.
 * \param grid Blocks in each dimension, with clusters too.
 * \param block Threads in each dimension.
 * \param cluster_dim Blocks in a cluster: along x, or in up to three dimensions.
 * \param config What is filled in; it points to `attr`.
 * \param attr Storage that must live until the launch.
 */
inline ResultType ConstructLaunchConfig(KernelHandle kernel, StreamHandle stream,
                                        uint32_t smem_size, tvm::ffi::dim3 grid,
                                        tvm::ffi::dim3 block, tvm::ffi::dim3 cluster_dim,
                                        CUlaunchConfig& config, CUlaunchAttribute& attr) {
  (void)kernel;
  config = MakeConfig(grid, block, stream, smem_size);
  attr = CUlaunchAttribute{};
  if (cluster_dim.x > 1 || cluster_dim.y > 1 || cluster_dim.z > 1) {
    attr.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attr.value.clusterDim.x = cluster_dim.x;
    attr.value.clusterDim.y = cluster_dim.y;
    attr.value.clusterDim.z = cluster_dim.z;
    config.attrs = &attr;
    config.numAttrs = 1;
  }
  return kSuccess;
}

inline ResultType ConstructLaunchConfig(KernelHandle kernel, StreamHandle stream,
                                        uint32_t smem_size, tvm::ffi::dim3 grid,
                                        tvm::ffi::dim3 block, tvm::ffi::dim3 cluster_dim,
                                        cudaLaunchConfig_t& config, cudaLaunchAttribute& attr) {
  (void)kernel;
  config = cudaLaunchConfig_t{};
  config.gridDim = ::dim3(grid.x, grid.y, grid.z);
  config.blockDim = ::dim3(block.x, block.y, block.z);
  config.dynamicSmemBytes = smem_size;
  config.stream = stream;
  attr = cudaLaunchAttribute{};
  if (cluster_dim.x > 1 || cluster_dim.y > 1 || cluster_dim.z > 1) {
    attr.id = cudaLaunchAttributeClusterDimension;
    attr.val.clusterDim.x = cluster_dim.x;
    attr.val.clusterDim.y = cluster_dim.y;
    attr.val.clusterDim.z = cluster_dim.z;
    config.attrs = &attr;
    config.numAttrs = 1;
  }
  return kSuccess;
}

template <typename Config, typename Attribute>
ResultType ConstructLaunchConfig(KernelHandle kernel, StreamHandle stream, uint32_t smem_size,
                                 tvm::ffi::dim3 grid, tvm::ffi::dim3 block, int cluster_dim,
                                 Config& config, Attribute& attr) {
  const unsigned along_x = cluster_dim > 1 ? static_cast<unsigned>(cluster_dim) : 1;
  return ConstructLaunchConfig(kernel, stream, smem_size, grid, block, tvm::ffi::dim3(along_x),
                               config, attr);
}

}  // namespace cuda_api
TVMFFI_CUBIN_COMPAT_END_NAMESPACE
}  // namespace ffi
}  // namespace tvm

#endif  // TVM_FFI_EXTRA_CUDA_INTERNAL_LAUNCH_H_
