/*!
 * \file tvm/ffi/extra/cuda/device_guard.h
 * \brief CUDADeviceGuard by tvm-ffi's name: a device made current for a scope.
 */
#ifndef TVM_FFI_EXTRA_CUDA_DEVICE_GUARD_H_
#define TVM_FFI_EXTRA_CUDA_DEVICE_GUARD_H_

#include <tvm/ffi/extra/cuda/base.h>

#include "../../../../../core/device.h"

namespace tvm {
namespace ffi {
TVMFFI_CUBIN_COMPAT_BEGIN_NAMESPACE

/*! \brief Makes a device current, and at its end what was current before, which may be nothing. */
struct __attribute__((visibility("default"))) CUDADeviceGuard {
  CUDADeviceGuard() = delete;
  CUDADeviceGuard(const CUDADeviceGuard&) = delete;
  CUDADeviceGuard& operator=(const CUDADeviceGuard&) = delete;

  /*! \param device_index The device; one that does not exist is a LaunchError. */
  explicit CUDADeviceGuard(int device_index) {
    const ::tvmffi_cubin::Driver* driver = ::tvmffi_cubin::OpenDriver();
    const CUresult result = driver == nullptr ? CUDA_ERROR_NO_DEVICE
                                              : scope_.Enter(driver, device_index).result;
    TVM_FFI_CHECK_CUDA_ERROR(::tvmffi_cubin::NoteRuntimeError(result));
  }

 private:
  ::tvmffi_cubin::DeviceScope scope_;
};

TVMFFI_CUBIN_COMPAT_END_NAMESPACE
}  // namespace ffi
}  // namespace tvm

#endif  // TVM_FFI_EXTRA_CUDA_DEVICE_GUARD_H_
