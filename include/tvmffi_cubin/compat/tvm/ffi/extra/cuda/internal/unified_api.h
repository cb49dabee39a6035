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
constexpr ::tvmffi_cubin::GuideLoad cuLibraryLoadData{}, cudaLibraryLoadData{};
constexpr auto cuLibraryUnload = ::tvmffi_cubin::GuideUnload, cudaLibraryUnload = cuLibraryUnload;
constexpr auto cuLibraryGetKernel = ::tvmffi_cubin::GuideGetKernel;
constexpr auto cudaLibraryGetKernel = cuLibraryGetKernel;
constexpr ::tvmffi_cubin::GuideSetSmem cuKernelSetAttribute{}, cudaKernelSetAttributeForDevice{};
constexpr ::tvmffi_cubin::GuideLaunch cuLaunchKernel{}, cuLaunchKernelEx{};
constexpr ::tvmffi_cubin::GuideLaunch cudaLaunchKernel{}, cudaLaunchKernelExC{};

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
