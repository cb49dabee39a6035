/*!
 * \file tvm/ffi/extra/cuda/internal/unified_api.h
 * \brief tvm-ffi's own, which calls these functions in place of libcuda's and libcudart's, and a
 * check macro that throws a LaunchError and tells what a refused launch went over.
 *
 * It calls them by unqualified names inside cuda_api, where these objects are found first.
 */
#pragma once
#pragma GCC system_header

#include <tvm/ffi/extra/cuda/base.h>

#include "../../../../../../guide.h"

namespace tvm::ffi::cuda_api {

using ::tvmffi_cubin::GuideResult;
using ::tvmffi_cubin::entry::cuDeviceGet;
using ::tvmffi_cubin::entry::cuDeviceGetAttribute;
using ::tvmffi_cubin::entry::cuDeviceGetCount;
using ::tvmffi_cubin::entry::cuGetErrorName;
using ::tvmffi_cubin::entry::cuGetErrorString;
using ::tvmffi_cubin::entry::cuKernelGetAttribute;
constexpr auto cuLibraryUnload = ::tvmffi_cubin::UnloadGuideLibrary;
constexpr auto cudaLibraryUnload = ::tvmffi_cubin::UnloadGuideLibrary;
constexpr auto cuLibraryGetKernel = ::tvmffi_cubin::FindGuideKernel;
constexpr auto cudaLibraryGetKernel = ::tvmffi_cubin::FindGuideKernel;

inline constexpr auto cuLibraryLoadData = [](CUlibrary* library, const void* image, auto&&...) {
  return ::tvmffi_cubin::LoadGuideLibrary(library, image);
};
inline constexpr auto cudaLibraryLoadData = cuLibraryLoadData;

inline constexpr auto cuKernelSetAttribute = [](CUfunction_attribute, int bytes, CUkernel kernel,
                                                CUdevice device) {
  return ::tvmffi_cubin::SetGuideSmem(kernel, device, bytes);
};
inline constexpr auto cudaKernelSetAttributeForDevice = [](CUkernel kernel, cudaFuncAttribute,
                                                           int bytes, int device) {
  return ::tvmffi_cubin::SetGuideSmem(kernel, device, bytes);
};

inline constexpr auto cuLaunchKernelEx = [](const CUlaunchConfig* config, CUfunction kernel,
                                            void** args, void**) {
  return ::tvmffi_cubin::LaunchGuideKernel(kernel, *config, args);
};
inline constexpr auto cuLaunchKernel = [](const void* kernel, unsigned grid_x, unsigned grid_y,
                                          unsigned grid_z, unsigned block_x, unsigned block_y,
                                          unsigned block_z, unsigned smem, CUstream stream,
                                          void** args, void**) {
  return ::tvmffi_cubin::LaunchGuideKernel(
      kernel, {grid_x, grid_y, grid_z, block_x, block_y, block_z, smem, stream, nullptr, 0}, args);
};
inline constexpr auto cudaLaunchKernelExC = [](const cudaLaunchConfig_t* config, const void* kernel,
                                               void** args) {
  const ::dim3 &grid = config->gridDim, &block = config->blockDim;
  const size_t smem = config->dynamicSmemBytes;
  return ::tvmffi_cubin::LaunchGuideKernel(
      kernel,
      // Shared memory that does not fit is refused then, and not cut to something smaller.
      {grid.x, grid.y, grid.z, block.x, block.y, block.z,
       smem < UINT32_MAX ? static_cast<unsigned>(smem) : UINT32_MAX, config->stream,
       reinterpret_cast<CUlaunchAttribute*>(config->attrs), config->numAttrs},
      args);
};
inline constexpr auto cudaLaunchKernel = [](const void* kernel, ::dim3 grid, ::dim3 block,
                                            void** args, size_t smem, cudaStream_t stream) {
  const cudaLaunchConfig_t config{grid, block, smem, stream, nullptr, 0};
  return cudaLaunchKernelExC(&config, kernel, args);
};

inline constexpr auto cudaGetDeviceCount = [](int* count) {
  return GuideResult{cuDeviceGetCount(count)};
};
inline constexpr auto cudaDeviceGetAttribute = [](int* value, cudaDeviceAttr attribute, int device) {
  return GuideResult{
      cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), device)};
};
inline constexpr auto cudaFuncGetAttributes = [](cudaFuncAttributes* out, CUkernel kernel) {
  int bytes = 0;
  const CUresult result = cuKernelGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel,
                                               ::tvmffi_cubin::CurrentDevice());
  out->sharedSizeBytes = static_cast<size_t>(bytes);
  return GuideResult{result};
};

}  // namespace tvm::ffi::cuda_api

// Where no dialect is picked, a result is of both.
#ifndef TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
#define CUresult ::tvmffi_cubin::GuideResult
#define cudaError_t ::tvmffi_cubin::GuideResult
#endif
#include_next <tvm/ffi/extra/cuda/internal/unified_api.h>
#undef CUresult
#undef cudaError_t

#undef TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR
#define TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(stmt)                                 \
  do {                                                                                \
    const ::tvm::ffi::cuda_api::ResultType code_of_call = (stmt);                     \
    if (code_of_call != ::tvm::ffi::cuda_api::kSuccess) {                             \
      ::tvmffi_cubin::ThrowGuideError(static_cast<int>(code_of_call));                \
    }                                                                                 \
  } while (0)
#undef TVM_FFI_CHECK_CUDA_DRIVER_ERROR
#define TVM_FFI_CHECK_CUDA_DRIVER_ERROR(stmt)                                         \
  do {                                                                                \
    const CUresult code_of_call = (stmt);                                             \
    if (code_of_call != CUDA_SUCCESS) ::tvmffi_cubin::ThrowGuideError(code_of_call);  \
  } while (0)
