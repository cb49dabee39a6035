/*!
 * \file tvmffi_cubin/runtime/launch.h
 * \brief cudaLaunchKernel and its kin for kernels of a CUBIN: a "function" is a CUkernel here.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_LAUNCH_H_
#define TVMFFI_CUBIN_RUNTIME_LAUNCH_H_

#include <stddef.h>
#include <stdint.h>

#include "../parameters.h"
#include "device.h"
#include "kernel.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute) &&
                  offsetof(cudaLaunchAttribute, val) == offsetof(CUlaunchAttribute, value),
              "CUDA's two launch attributes have one layout, and the same numbers");

/*! \brief The driver's form of the runtime's launch configuration; the attributes are shared. */
inline CUlaunchConfig ToDriverConfig(const cudaLaunchConfig_t& config) {
  CUlaunchConfig converted{};
  converted.gridDimX = config.gridDim.x;
  converted.gridDimY = config.gridDim.y;
  converted.gridDimZ = config.gridDim.z;
  converted.blockDimX = config.blockDim.x;
  converted.blockDimY = config.blockDim.y;
  converted.blockDimZ = config.blockDim.z;
  // What does not fit is refused then, and not cut to something smaller.
  converted.sharedMemBytes = config.dynamicSmemBytes < UINT32_MAX
                                 ? static_cast<uint32_t>(config.dynamicSmemBytes)
                                 : UINT32_MAX;
  converted.hStream = config.stream;
  converted.attrs = reinterpret_cast<CUlaunchAttribute*>(config.attrs);
  converted.numAttrs = config.numAttrs;
  return converted;
}

/*!
 * \brief Launches a kernel that came as `const void*`. One that a function stands for is opted into
 * what it needs; of a handle the limits are those that the caller has set.
 */
inline cudaError_t LaunchHandle(const void* function, const CUlaunchConfig& config, void** args) {
  if (!OpenDriver()) return NoteRuntimeError(CUDA_ERROR_NO_DEVICE);
  const KernelAddress* found = FindKernelAddress(function);
  if (found != nullptr) return NoteRuntimeError(found->calls->launch(found->slot, config, args));
  if (IsNoHandle(function)) return NoteRuntimeError(kNoKernel);
  const CUkernel kernel = static_cast<CUkernel>(const_cast<void*>(function));
  ParameterSizes parameters;
  DeviceScope scope;
  Status status = EnterLaunch(config.hStream, -1, &scope);
  if (status.ok()) status = LaunchHere(kernel, &parameters, config, args);
  return NoteRuntimeError(status.result);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** args) {
  cudaError_t error;
  if (tvmffi_cubin::IsNull(&error, config)) return error;
  return tvmffi_cubin::LaunchHandle(function, tvmffi_cubin::ToDriverConfig(*config), args);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args,
                 size_t dynamic_smem_bytes, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = dynamic_smem_bytes;
  config.stream = stream;
  return tvmffi_cubin::LaunchHandle(function, tvmffi_cubin::ToDriverConfig(config), args);
}

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** args,
                            size_t dynamic_smem_bytes, cudaStream_t stream) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = dynamic_smem_bytes;
  config.stream = stream;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  return tvmffi_cubin::LaunchHandle(function, tvmffi_cubin::ToDriverConfig(config), args);
}

#endif  // TVMFFI_CUBIN_RUNTIME_LAUNCH_H_
