/*!
 * \file cuda/std/__cccl/compiler.h
 * \brief CCCL's own, in which it decides whose text this is: one of a host compiler.
 */
#ifndef TVMFFI_CUBIN_COMPAT_CUDA_STD_CCCL_COMPILER_H_
#define TVMFFI_CUBIN_COMPAT_CUDA_STD_CCCL_COMPILER_H_
#pragma GCC system_header

// Not in every release of CCCL.
#if __has_include_next(<cuda/std/__cccl/compiler.h>)
#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#include_next <cuda/std/__cccl/compiler.h>
#pragma pop_macro("__CUDACC__")
#endif

#endif  // TVMFFI_CUBIN_COMPAT_CUDA_STD_CCCL_COMPILER_H_
