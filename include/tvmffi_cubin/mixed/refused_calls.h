/*!
 * \file tvmffi_cubin/mixed/refused_calls.h
 * \brief The runtime's calls that would be libcudart's, and take kernels or variables it does not
 * know.
 */
#ifndef TVMFFI_CUBIN_MIXED_REFUSED_CALLS_H_
#define TVMFFI_CUBIN_MIXED_REFUSED_CALLS_H_

#include <cuda_runtime.h>

// clang takes gcc's attribute for a function's first declaration alone.
#ifdef __clang__
#define TVMFFI_CUBIN_REFUSES unavailable
#else
#define TVMFFI_CUBIN_REFUSES error
#endif
#define TVMFFI_CUBIN_REFUSING                                                              \
  extern "C" __attribute__((TVMFFI_CUBIN_REFUSES(                                          \
      "libcudart's, which knows no kernels and variables of a mixed source: use compiler=" \
      "\"nvcc\"")))
#define TVMFFI_CUBIN_REFUSED(name) TVMFFI_CUBIN_REFUSING decltype(name) name;

// Nodes of any kind: cudaGraphAddKernelNode and its kin are ours.
#if CUDART_VERSION >= 12020
TVMFFI_CUBIN_REFUSED(cudaGraphAddNode)
#if CUDART_VERSION >= 12030 && CUDART_VERSION < 13000
TVMFFI_CUBIN_REFUSED(cudaGraphAddNode_v2)
#endif
TVMFFI_CUBIN_REFUSED(cudaGraphNodeSetParams)
TVMFFI_CUBIN_REFUSED(cudaGraphExecNodeSetParams)
#endif
TVMFFI_CUBIN_REFUSED(cudaGraphKernelNodeGetParams)
TVMFFI_CUBIN_REFUSED(cudaGraphMemcpyNodeSetParamsToSymbol)
TVMFFI_CUBIN_REFUSED(cudaGraphMemcpyNodeSetParamsFromSymbol)
TVMFFI_CUBIN_REFUSED(cudaGraphExecMemcpyNodeSetParamsToSymbol)
TVMFFI_CUBIN_REFUSED(cudaGraphExecMemcpyNodeSetParamsFromSymbol)
#if CUDART_VERSION < 13000
// Its type, taken from its name, would have its default argument a second time.
TVMFFI_CUBIN_REFUSING cudaError_t cudaLaunchCooperativeKernelMultiDevice(struct cudaLaunchParams*,
                                                                         unsigned, unsigned);
#endif
#undef TVMFFI_CUBIN_REFUSED
#undef TVMFFI_CUBIN_REFUSING
#undef TVMFFI_CUBIN_REFUSES

#endif  // TVMFFI_CUBIN_MIXED_REFUSED_CALLS_H_
