/*!
 * \file tvmffi_cubin/mixed/launch.h
 * \brief The runtime's launch calls, interposed: bound parameters behind, refusals noted.
 *
 * Included before cuda_runtime_api.h, for a function has its symbol from its first declaration on.
 */
#ifndef TVMFFI_CUBIN_MIXED_LAUNCH_H_
#define TVMFFI_CUBIN_MIXED_LAUNCH_H_

#include <driver_types.h>
#include <vector_types.h>

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define TVMFFI_CUBIN_RUNTIME(name) name##_ptsz
#define TVMFFI_CUBIN_SYMBOL(name) #name "_ptsz"
#else
#define TVMFFI_CUBIN_RUNTIME(name) name
#define TVMFFI_CUBIN_SYMBOL(name) #name
#endif
// A link with bound parameters wraps these calls, so that code that does not come here is refused.
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
#define TVMFFI_CUBIN_REAL "__real_"
#else
#define TVMFFI_CUBIN_REAL ""
#endif

#define TVMFFI_CUBIN_INTERPOSED(name, real, ...)                                          \
  __attribute__((visibility("hidden"))) cudaError_t TVMFFI_CUBIN_RUNTIME(name)(__VA_ARGS__) \
      __asm__("tvmffi_cubin_" #name);                                                     \
  cudaError_t real(__VA_ARGS__) __asm__(TVMFFI_CUBIN_REAL TVMFFI_CUBIN_SYMBOL(name));

struct cudaLaunchConfig_st;
extern "C" {
TVMFFI_CUBIN_INTERPOSED(cudaLaunchKernel, tvmffi_cubin_real_launch, const void*, dim3, dim3,
                        void**, size_t, cudaStream_t)
TVMFFI_CUBIN_INTERPOSED(cudaLaunchCooperativeKernel, tvmffi_cubin_real_cooperative, const void*,
                        dim3, dim3, void**, size_t, cudaStream_t)
TVMFFI_CUBIN_INTERPOSED(cudaLaunchKernelExC, tvmffi_cubin_real_extended,
                        const cudaLaunchConfig_t*, const void*, void**)
}

#undef TVMFFI_CUBIN_INTERPOSED

#endif  // TVMFFI_CUBIN_MIXED_LAUNCH_H_
