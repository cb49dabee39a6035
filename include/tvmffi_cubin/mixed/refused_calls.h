/*!
 * \file tvmffi_cubin/mixed/refused_calls.h
 * \brief The runtime's calls that would be libcudart's, and take kernels or variables it does not
 * know.
 */
#ifndef TVMFFI_CUBIN_MIXED_REFUSED_CALLS_H_
#define TVMFFI_CUBIN_MIXED_REFUSED_CALLS_H_

#include <cuda_runtime.h>

#ifdef __has_attribute
#if __has_attribute(error)
#define TVMFFI_CUBIN_REFUSED(name)                                                      \
  extern "C" __attribute__((                                                            \
      error("libcudart's, which knows no kernels and variables of a mixed source: use " \
            "compiler=\"nvcc\""))) decltype(name) name;

TVMFFI_CUBIN_REFUSED(cudaGraphKernelNodeGetParams)
TVMFFI_CUBIN_REFUSED(cudaGraphMemcpyNodeSetParamsToSymbol)
TVMFFI_CUBIN_REFUSED(cudaGraphMemcpyNodeSetParamsFromSymbol)
TVMFFI_CUBIN_REFUSED(cudaGraphExecMemcpyNodeSetParamsToSymbol)
TVMFFI_CUBIN_REFUSED(cudaGraphExecMemcpyNodeSetParamsFromSymbol)
#undef TVMFFI_CUBIN_REFUSED
#endif
#endif

#endif  // TVMFFI_CUBIN_MIXED_REFUSED_CALLS_H_
