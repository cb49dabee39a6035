/*!
 * \file cuda_runtime.h
 * \brief CUDA's own header, made to work in host code with no toolkit and no libcudart.
 */
#ifndef TVMFFI_CUBIN_COMPAT_CUDA_RUNTIME_H_
#define TVMFFI_CUBIN_COMPAT_CUDA_RUNTIME_H_
#pragma GCC system_header

#include "../runtime/own_symbols.h"

#include_next <cuda_runtime.h>
#include <cuda_runtime_api.h>

#endif  // TVMFFI_CUBIN_COMPAT_CUDA_RUNTIME_H_
