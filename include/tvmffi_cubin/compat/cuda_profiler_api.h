// The profiler's two calls, whose header some CUDA wheels lack.
#ifndef TVMFFI_CUBIN_COMPAT_CUDA_PROFILER_API_H_
#define TVMFFI_CUBIN_COMPAT_CUDA_PROFILER_API_H_
#pragma GCC system_header

#include <cuda_runtime_api.h>

extern "C" cudaError_t CUDARTAPI cudaProfilerStart(void);
extern "C" cudaError_t CUDARTAPI cudaProfilerStop(void);

#endif  // TVMFFI_CUBIN_COMPAT_CUDA_PROFILER_API_H_
