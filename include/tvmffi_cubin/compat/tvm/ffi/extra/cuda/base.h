/*!
 * \file tvm/ffi/extra/cuda/base.h
 * \brief tvm-ffi's own, with check macros that throw a LaunchError (in Python a RuntimeError) and
 * tell what a refused launch went over.
 */
#ifndef TVMFFI_CUBIN_COMPAT_BASE_H_
#define TVMFFI_CUBIN_COMPAT_BASE_H_
#pragma GCC system_header

#include_next <tvm/ffi/extra/cuda/base.h>

#include "../../../../../guide.h"

#undef TVM_FFI_CHECK_CUDA_ERROR
#define TVM_FFI_CHECK_CUDA_ERROR(stmt) TVMFFI_CUBIN_CHECK(cudaError_t, "CUDA Runtime Error: ", stmt)
#undef TVM_FFI_CHECK_CUDA_DRIVER_ERROR
#define TVM_FFI_CHECK_CUDA_DRIVER_ERROR(stmt) \
  TVMFFI_CUBIN_CHECK(CUresult, "CUDA Driver Error: ", stmt)

#endif  // TVMFFI_CUBIN_COMPAT_BASE_H_
