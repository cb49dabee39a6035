// What CUDA's headers need from this file in host code; CUDA 12's runtime wheel lacks it.
#ifndef TVMFFI_CUBIN_COMPAT_CRT_HOST_DEFINES_H_
#define TVMFFI_CUBIN_COMPAT_CRT_HOST_DEFINES_H_
#pragma GCC system_header

#if __has_include_next(<crt/host_defines.h>)
#include_next <crt/host_defines.h>
#elif !defined(__HOST_DEFINES_H__)  // NVIDIA's own guard: whoever defines it wants no macros

// Never __noinline__: libstdc++ spells the compiler's own attribute that way.
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __block_size__(...)
#define __maxnreg__(...)
#define __cudart_builtin__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __inline_hint__
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __specialization_static
#define __nv_pure__

#endif

#endif  // TVMFFI_CUBIN_COMPAT_CRT_HOST_DEFINES_H_
