/*!
 * \file tvmffi_cubin/runtime/launch.h
 * \brief cudaLaunchKernel and its kin for kernels of a CUBIN: a "function" is a CUkernel here.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_LAUNCH_H_
#define TVMFFI_CUBIN_RUNTIME_LAUNCH_H_

#include <stddef.h>
#include <stdint.h>

#include "../bound_launch.h"
#include "device.h"

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

/*! \brief Launches a handle that came as `const void*`, with the limits that the caller has set. */
inline cudaError_t LaunchHandle(const void* function, const CUlaunchConfig& config, void** args) {
  const Driver* driver = OpenDriver();
  if (driver == nullptr) return NoteRuntimeError(CUDA_ERROR_NO_DEVICE);
  const CUkernel kernel = static_cast<CUkernel>(const_cast<void*>(function));
  return NoteRuntimeError(DispatchHandle(driver, kernel, config, args).result);
}

/*! \brief The driver's name for the attributes that cudaFuncSetAttribute knows. */
inline bool FunctionAttribute(enum cudaFuncAttribute attribute, CUfunction_attribute* converted) {
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      *converted = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
      return true;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      *converted = CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
      return true;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      *converted = CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
      return true;
    default:
      return false;
  }
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

TVMFFI_CUBIN_RUNTIME(cudaError_t)
cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** args) {
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
cudaFuncSetAttribute(const void* function, enum cudaFuncAttribute attribute, int value) {
  const tvmffi_cubin::Driver* driver = tvmffi_cubin::OpenDriver();
  if (driver == nullptr) return tvmffi_cubin::NoteRuntimeError(CUDA_ERROR_NO_DEVICE);
  CUfunction_attribute converted;
  CUdevice device = 0;
  CUresult result = tvmffi_cubin::FunctionAttribute(attribute, &converted)
                        ? driver->cuDeviceGet(&device, tvmffi_cubin::CurrentDevice(driver))
                        : CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS) {
    const CUkernel kernel = static_cast<CUkernel>(const_cast<void*>(function));
    result = driver->cuKernelSetAttribute(converted, value, kernel, device);
  }
  return tvmffi_cubin::NoteRuntimeError(result);
}

#endif  // TVMFFI_CUBIN_RUNTIME_LAUNCH_H_
