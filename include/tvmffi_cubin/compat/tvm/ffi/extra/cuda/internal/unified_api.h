/*!
 * \file tvm/ffi/extra/cuda/internal/unified_api.h
 * \brief tvm-ffi's own, which calls these functions in place of libcuda's and libcudart's.
 *
 * It calls them by unqualified names inside cuda_api, where these objects are found first. Where
 * no dialect is picked (TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API), a result is of both.
 */
#ifndef TVMFFI_CUBIN_COMPAT_UNIFIED_API_H_
#define TVMFFI_CUBIN_COMPAT_UNIFIED_API_H_
#pragma GCC system_header

#include <tvm/ffi/extra/cuda/base.h>

#include "../../../../../../guide.h"

namespace tvm {
namespace ffi {
namespace cuda_api {

using ::tvmffi_cubin::entry::cuDeviceGet;
using ::tvmffi_cubin::entry::cuDeviceGetAttribute;
using ::tvmffi_cubin::entry::cuDeviceGetCount;
using ::tvmffi_cubin::entry::cuKernelGetAttribute;
constexpr auto cuGetErrorName = ::tvmffi_cubin::GuideErrorName;
constexpr auto cuGetErrorString = ::tvmffi_cubin::GuideErrorText;
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
inline constexpr auto cuLaunchKernel = [](CUfunction kernel, unsigned grid_x, unsigned grid_y,
                                          unsigned grid_z, unsigned block_x, unsigned block_y,
                                          unsigned block_z, unsigned smem, CUstream stream,
                                          void** args, void**) {
  return ::tvmffi_cubin::LaunchGuideKernel(
      kernel, {grid_x, grid_y, grid_z, block_x, block_y, block_z, smem, stream, nullptr, 0}, args);
};
inline constexpr auto cudaLaunchKernelExC = [](const cudaLaunchConfig_t* config, const void* kernel,
                                               void** args) {
  return ::tvmffi_cubin::LaunchGuideKernel(kernel, ::tvmffi_cubin::ToDriverConfig(*config), args);
};
inline constexpr auto cudaLaunchKernel = [](const void* kernel, ::dim3 grid, ::dim3 block,
                                            void** args, size_t smem, cudaStream_t stream) {
  const cudaLaunchConfig_t config{grid, block, smem, stream, nullptr, 0};
  return cudaLaunchKernelExC(&config, kernel, args);
};

}  // namespace cuda_api
}  // namespace ffi
}  // namespace tvm

#ifndef TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
#define CUresult ::tvmffi_cubin::GuideResult
#define cudaError_t ::tvmffi_cubin::GuideResult
#endif
#include_next <tvm/ffi/extra/cuda/internal/unified_api.h>
#undef CUresult
#undef cudaError_t

#undef TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR
#define TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(stmt) \
  TVMFFI_CUBIN_CHECK(::tvm::ffi::cuda_api::ResultType, "CUDA Error: ", stmt)

#endif  // TVMFFI_CUBIN_COMPAT_UNIFIED_API_H_
