/*!
 * \file tvm/ffi/extra/cuda/base.h
 * \brief tvm::ffi::dim3 and the check macros, by tvm-ffi's names, over tvmffi_cubin.
 */
#ifndef TVM_FFI_EXTRA_CUDA_BASE_H_
#define TVM_FFI_EXTRA_CUDA_BASE_H_

#include <cuda_runtime.h>
#include <tvm/ffi/error.h>

#include "internal/error_text.h"

/*! \brief Throws a LaunchError (in Python a RuntimeError) unless a runtime call succeeded. */
#define TVM_FFI_CHECK_CUDA_ERROR(stmt)                                                             \
  do {                                                                                             \
    const cudaError_t tvmffi_cubin_error = (stmt);                                                 \
    if (__builtin_expect(tvmffi_cubin_error != cudaSuccess, 0)) {                                  \
      TVM_FFI_THROW(LaunchError) << "CUDA Runtime Error: "                                         \
                                 << ::tvm::ffi::cuda_api::DescribeError(tvmffi_cubin_error);       \
    }                                                                                              \
  } while (0)

/*! \brief The same for a driver call. */
#define TVM_FFI_CHECK_CUDA_DRIVER_ERROR(stmt)                                                      \
  do {                                                                                             \
    const CUresult tvmffi_cubin_error = (stmt);                                                    \
    if (__builtin_expect(tvmffi_cubin_error != CUDA_SUCCESS, 0)) {                                 \
      TVM_FFI_THROW(LaunchError) << "CUDA Driver Error: "                                          \
                                 << ::tvm::ffi::cuda_api::DescribeError(tvmffi_cubin_error);       \
    }                                                                                              \
  } while (0)

namespace tvm {
namespace ffi {

/*! \brief One to three dimensions of a grid or a block; those left out are 1. */
struct dim3 {
  unsigned int x = 1;
  unsigned int y = 1;
  unsigned int z = 1;

  dim3() = default;
  explicit dim3(unsigned int x_) : x(x_) {}
  dim3(unsigned int x_, unsigned int y_) : x(x_), y(y_) {}
  dim3(unsigned int x_, unsigned int y_, unsigned int z_) : x(x_), y(y_), z(z_) {}
};

}  // namespace ffi
}  // namespace tvm

#endif  // TVM_FFI_EXTRA_CUDA_BASE_H_
