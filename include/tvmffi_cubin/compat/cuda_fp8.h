/*!
 * \file cuda_fp8.h
 * \brief CUDA's own header as a host compiler sees it, in a text that sees itself as CUDA's.
 */
#ifndef TVMFFI_CUBIN_COMPAT_CUDA_FP8_H_
#define TVMFFI_CUBIN_COMPAT_CUDA_FP8_H_
#pragma GCC system_header

#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#include_next <cuda_fp8.h>
#pragma pop_macro("__CUDACC__")

#endif  // TVMFFI_CUBIN_COMPAT_CUDA_FP8_H_
