// tvm-ffi's own header, which calls these functions instead of libcuda's and libcudart's, and a
// check macro that throws a LaunchError with the limit that a rejected launch exceeded.
//
// It calls them by unqualified names inside cuda_api, where these are found first. Launches opt in
// to large shared memory and clusters, go to the stream's device and append bound parameters.
#pragma once
#pragma GCC system_header

#include <tvm/ffi/extra/cuda/base.h>

#include "../../../../../../kernel.h"

#if CUDART_VERSION < 12080
typedef struct CUlib_st* cudaLibrary_t;
#endif

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceGet, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuDeviceGetCount, 12000)

// A result code of both the driver and the runtime, which share their numbers.
struct GuideResult {
  int code = 0;

  constexpr GuideResult() = default;
  constexpr GuideResult(CUresult result) : code(result) {}
  constexpr GuideResult(cudaError_t error) : code(error) {}
  constexpr operator CUresult() const { return static_cast<CUresult>(code); }
  constexpr operator cudaError_t() const { return static_cast<cudaError_t>(code); }
  constexpr explicit operator int() const { return code; }

  template <typename Code>
  friend constexpr bool operator==(GuideResult left, Code right) {
    return left.code == static_cast<int>(right);
  }
  template <typename Code>
  friend constexpr bool operator!=(GuideResult left, Code right) {
    return left.code != static_cast<int>(right);
  }
};

// Records what a failure means, for the check macro.
TVMFFI_CUBIN_COLD GuideResult NoteGuideError(const Library& library, const Status& status,
                                             const char* name = "") {
  Text text;
  AddImageError(library, status, name, &text);
  launch_problem.Set(status.result, text);
  return status.result;
}

TVMFFI_CUBIN_COLD GuideResult LoadGuideLibrary(CUlibrary* library, const void* image) {
  if (!OpenDriver()) return CUDA_ERROR_NO_DEVICE;
  Library loaded;
  loaded.image = image;
  const Status status = loaded.Load();
  *library = loaded.handle;
  return status.ok() ? GuideResult{} : NoteGuideError(loaded, status);
}

// Kernels that are opted in, each with its device, at places given by a hash of both.
inline uintptr_t guide_opted_in[256];

TVMFFI_CUBIN_COLD GuideResult UnloadGuideLibrary(CUlibrary library) {
  // The driver may reuse the same handles for kernels of another library.
  for (uintptr_t& known : guide_opted_in) __atomic_store_n(&known, 0, __ATOMIC_RELAXED);
  Library loaded;
  loaded.handle = library;
  return loaded.Unload().result;
}

TVMFFI_CUBIN_COLD GuideResult FindGuideKernel(CUkernel* kernel, CUlibrary library,
                                              const char* name) {
  CaptureScope relaxed;
  Library loaded;
  loaded.handle = library;
  const Status status{entry::cuLibraryGetKernel(kernel, library, name), "cuLibraryGetKernel"};
  return status.ok() ? GuideResult{} : NoteGuideError(loaded, status, name);
}

// Opts a kernel in, once per device unless another has taken its place in between.
TVMFFI_CUBIN_SHARED GuideResult OptInGuideKernel(CUkernel kernel, int device) {
  const uintptr_t known = reinterpret_cast<uintptr_t>(kernel) * kMaxDevices + unsigned(device);
  uintptr_t* const place = &guide_opted_in[known * UINT64_C(0x9E3779B97F4A7C15) >> 56];
  if (__atomic_load_n(place, __ATOMIC_RELAXED) != known && OptIn(kernel, device).ok()) {
    __atomic_store_n(place, known, __ATOMIC_RELAXED);
  }
  return {};
}

// Launches; `kernel` is a CUkernel, whatever its declared type.
TVMFFI_CUBIN_SHARED GuideResult LaunchGuideKernel(const void* kernel, const CUlaunchConfig& config,
                                                  void** args) {
  const auto handle = static_cast<CUkernel>(const_cast<void*>(kernel));
  DeviceScope scope;
  int device = -1;
  // Otherwise an earlier rejection would be reported for another call's failure.
  launch_problem.result = CUDA_SUCCESS;
  Status status = EnterLaunch(config.hStream, &device, &scope);
  if (!status.ok()) return status.result;
  OptInGuideKernel(handle, device);
  status = LaunchHere(handle, config, args);
  if (!status.ok()) NoteRefusal(status, handle, device, config);
  return status.result;
}

// Throws a LaunchError with what is known about the thread's last failure, reported once.
[[noreturn]] TVMFFI_CUBIN_COLD void ThrowGuideError(int code) {
  const Status status{static_cast<CUresult>(code), "CUDA Error: the call"};
  const bool is_known = launch_problem.result == status.result;
  launch_problem.result = CUDA_SUCCESS;
  Throw("LaunchError", "%s%s%s", DescribeStatus(status).chars, is_known ? "; " : "",
        is_known ? launch_problem.text : "");
}

TVMFFI_CUBIN_END

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

inline constexpr auto cuKernelSetAttribute = [](CUfunction_attribute, int, CUkernel kernel,
                                                CUdevice device) {
  return ::tvmffi_cubin::OptInGuideKernel(kernel, device);
};
inline constexpr auto cudaKernelSetAttributeForDevice = [](CUkernel kernel, cudaFuncAttribute, int,
                                                           int device) {
  return ::tvmffi_cubin::OptInGuideKernel(kernel, device);
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
  const auto smem = static_cast<unsigned>(config->dynamicSmemBytes);
  return ::tvmffi_cubin::LaunchGuideKernel(
      kernel,
      {grid.x, grid.y, grid.z, block.x, block.y, block.z, smem, config->stream,
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
inline constexpr auto cudaDeviceGetAttribute = [](int* value, cudaDeviceAttr attribute,
                                                  int device) {
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

// If no API is selected, results belong to both.
#ifndef TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
#define CUresult ::tvmffi_cubin::GuideResult
#define cudaError_t ::tvmffi_cubin::GuideResult
#endif
#include_next <tvm/ffi/extra/cuda/internal/unified_api.h>
#undef CUresult
#undef cudaError_t

#undef TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR
#define TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(stmt)                  \
  do {                                                                 \
    const ::tvm::ffi::cuda_api::ResultType code_of_call = (stmt);      \
    if (code_of_call != ::tvm::ffi::cuda_api::kSuccess) {              \
      ::tvmffi_cubin::ThrowGuideError(static_cast<int>(code_of_call)); \
    }                                                                  \
  } while (0)
#undef TVM_FFI_CHECK_CUDA_DRIVER_ERROR
#define TVM_FFI_CHECK_CUDA_DRIVER_ERROR(stmt)                                        \
  do {                                                                               \
    const CUresult code_of_call = (stmt);                                            \
    if (code_of_call != CUDA_SUCCESS) ::tvmffi_cubin::ThrowGuideError(code_of_call); \
  } while (0)
