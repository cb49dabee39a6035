/*!
 * \file cuda_runtime_api.h
 * \brief CUDA's own declarations, and definitions that need no libcudart for what wrappers call.
 *
 * TVMFFI_CUBIN_WITH_CUDART leaves all of it to libcudart, as nvcc does; so do per-thread default
 * streams, which rename the calls.
 */
// No guard around the whole: the definitions include this file for its declarations.
// Warnings about ours are no user's to mend, -Wpedantic's about #include_next among them.
#pragma GCC system_header
#include "../runtime/own_symbols.h"

#include_next <cuda_runtime_api.h>
#include <cuda.h>

#ifndef TVMFFI_CUBIN_COMPAT_CUDA_RUNTIME_API_H_
#define TVMFFI_CUBIN_COMPAT_CUDA_RUNTIME_API_H_
#if CUDART_VERSION < 12080
typedef struct CUlib_st* cudaLibrary_t;
#endif
#endif  // TVMFFI_CUBIN_COMPAT_CUDA_RUNTIME_API_H_

#if !defined(TVMFFI_CUBIN_WITH_CUDART) && !defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) && \
    !defined(TVMFFI_CUBIN_DECLARE_RUNTIME)
#include "../runtime/runtime.h"
#endif
