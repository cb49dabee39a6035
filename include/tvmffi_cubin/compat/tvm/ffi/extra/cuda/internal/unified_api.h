/*!
 * \file tvm/ffi/extra/cuda/internal/unified_api.h
 * \brief tvm::ffi::cuda_api: one set of names for both of CUDA's APIs, over the driver.
 *
 * TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API picks the types: 1 the driver's, 0 the runtime's. Left
 * undefined, results are both at once, and it is defined here as tvm-ffi's header would: wrappers
 * ask for it with #if.
 */
#ifndef TVM_FFI_EXTRA_CUDA_INTERNAL_UNIFIED_API_H_
#define TVM_FFI_EXTRA_CUDA_INTERNAL_UNIFIED_API_H_

#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/cuda/base.h>

#include <cstdint>

#include "../../../../../../core/driver.h"
#include "../../../../../../runtime/launch.h"
#include "result.h"

#ifndef TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
#define TVMFFI_CUBIN_COMPAT_BOTH_RESULTS
#if CUDART_VERSION >= 12080
#define TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API 0
#else
#define TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API 1
#endif
#endif

namespace tvm {
namespace ffi {
TVMFFI_CUBIN_COMPAT_BEGIN_NAMESPACE
namespace cuda_api {

// CUDA names the same opaque types twice: cudaStream_t is CUstream, cudaKernel_t is CUkernel.
using StreamHandle = CUstream;
using DeviceHandle = CUdevice;
using LibraryHandle = CUlibrary;
using KernelHandle = CUkernel;

#if TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
using LaunchConfig = CUlaunchConfig;
using LaunchAttrType = CUlaunchAttribute;
using DeviceAttrType = CUdevice_attribute;
using ErrorDialect = CUresult;
#else
using LaunchConfig = cudaLaunchConfig_t;
using LaunchAttrType = cudaLaunchAttribute;
using DeviceAttrType = cudaDeviceAttr;
using ErrorDialect = cudaError_t;
#endif

#ifdef TVMFFI_CUBIN_COMPAT_BOTH_RESULTS
using ResultType = Result;
#else
using ResultType = ErrorDialect;
#endif

constexpr ResultType kSuccess = static_cast<ResultType>(CUDA_SUCCESS);

/*! \brief A driver call's answer; cudaGetLastError tells of a failure, too. */
inline ResultType Answer(CUresult result) {
  return static_cast<ResultType>(::tvmffi_cubin::NoteRuntimeError(result));
}

/*! \brief Makes a call with the driver's table, where there is a driver. */
template <typename Call>
ResultType CallDriver(Call call) {
  const ::tvmffi_cubin::Driver* driver = ::tvmffi_cubin::OpenDriver();
  return Answer(driver == nullptr ? CUDA_ERROR_NO_DEVICE : call(driver));
}

/*! \brief Name and meaning of a code, in the words of the API that is picked. */
inline void GetErrorString(ResultType error, const char** name, const char** text) {
  *name = ErrorName(static_cast<ErrorDialect>(error));
  *text = cudaGetErrorString(static_cast<cudaError_t>(static_cast<int>(error)));
}

inline ResultType LoadLibrary(LibraryHandle* library, const void* image) {
  return CallDriver([&](const ::tvmffi_cubin::Driver* driver) {
    return driver->cuLibraryLoadData(library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  });
}

inline ResultType UnloadLibrary(LibraryHandle library) {
  return CallDriver(
      [&](const ::tvmffi_cubin::Driver* driver) { return driver->cuLibraryUnload(library); });
}

inline ResultType GetKernel(KernelHandle* kernel, LibraryHandle library, const char* name) {
  return CallDriver([&](const ::tvmffi_cubin::Driver* driver) {
    return driver->cuLibraryGetKernel(kernel, library, name);
  });
}

/*! \brief The device's handle, which is its number; throws where there is no such device. */
inline DeviceHandle GetDeviceHandle(int device_id) {
  CUdevice device = 0;
  const ResultType result = CallDriver([&](const ::tvmffi_cubin::Driver* driver) {
    return driver->cuDeviceGet(&device, device_id);
  });
  if (result != kSuccess) {
    TVM_FFI_THROW(LaunchError) << "CUDA Error: device " << device_id << ": "
                               << DescribeError(static_cast<ErrorDialect>(result));
  }
  return device;
}

inline ResultType GetDeviceCount(int* count) {
  return CallDriver(
      [&](const ::tvmffi_cubin::Driver* driver) { return driver->cuDeviceGetCount(count); });
}

/*! \param attr A CUdevice_attribute or a cudaDeviceAttr: they share their numbers. */
template <typename Attribute>
ResultType GetDeviceAttribute(int* value, Attribute attr, DeviceHandle device) {
  return CallDriver([&](const ::tvmffi_cubin::Driver* driver) {
    return driver->cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attr), device);
  });
}

/*! \brief The kernel's static shared memory in bytes. */
inline ResultType GetKernelSharedMem(KernelHandle kernel, int& out, DeviceHandle device) {
  return CallDriver([&](const ::tvmffi_cubin::Driver* driver) {
    return driver->cuKernelGetAttribute(&out, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, device);
  });
}

inline ResultType SetKernelMaxDynamicSharedMem(KernelHandle kernel, int shmem,
                                               DeviceHandle device) {
  return CallDriver([&](const ::tvmffi_cubin::Driver* driver) {
    return driver->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shmem,
                                        kernel, device);
  });
}

}  // namespace cuda_api
TVMFFI_CUBIN_COMPAT_END_NAMESPACE
}  // namespace ffi
}  // namespace tvm

/*! \brief Throws a LaunchError (in Python a RuntimeError) unless a launcher's call succeeded. */
#define TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(stmt)                                              \
  do {                                                                                             \
    const ::tvm::ffi::cuda_api::ResultType tvmffi_cubin_result = (stmt);                           \
    if (__builtin_expect(tvmffi_cubin_result != ::tvm::ffi::cuda_api::kSuccess, 0)) {              \
      TVM_FFI_THROW(LaunchError) << "CUDA Error: "                                                 \
                                 << ::tvm::ffi::cuda_api::DescribeError(                           \
                                        static_cast<::tvm::ffi::cuda_api::ErrorDialect>(           \
                                            tvmffi_cubin_result));                                 \
    }                                                                                              \
  } while (0)

#include "launch.h"

#endif  // TVM_FFI_EXTRA_CUDA_INTERNAL_UNIFIED_API_H_
