/*!
 * \file cuda_fp6.h
 * \brief CUDA's own header as a host compiler sees it, in a text that sees itself as CUDA's.
 */
#ifndef TVMFFI_CUBIN_COMPAT_CUDA_FP6_H_
#define TVMFFI_CUBIN_COMPAT_CUDA_FP6_H_
#pragma GCC system_header

// Not in CUDA before 12.8.
#if __has_include_next(<cuda_fp6.h>)
#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#include_next <cuda_fp6.h>
#pragma pop_macro("__CUDACC__")
#endif

#endif  // TVMFFI_CUBIN_COMPAT_CUDA_FP6_H_
