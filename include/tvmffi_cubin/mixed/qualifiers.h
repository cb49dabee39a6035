/*!
 * \file tvmffi_cubin/mixed/qualifiers.h
 * \brief CUDA's qualifiers as the host text of a mixed source has them; included last before it.
 *
 * The text sees itself compiled by a CUDA compiler, as with nvcc; headers included before do not.
 */
#ifndef TVMFFI_CUBIN_MIXED_QUALIFIERS_H_
#define TVMFFI_CUBIN_MIXED_QUALIFIERS_H_

#include "mixed.h"

#undef __host__
#undef __device__
#undef __global__
#undef __shared__
#undef __constant__
#undef __managed__
#undef __grid_constant__
#undef __launch_bounds__
#undef __cluster_dims__
#undef __block_size__
#undef __maxnreg__
#undef __forceinline__
#undef __noinline__
#undef __inline_hint__
#undef __align__

#define __host__
#define __device__
// A stub is a kernel's address to the runtime's calls, so it stays a function of its own.
#define __global__ __attribute__((noinline, visibility("hidden")))
#define __shared__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __block_size__(...)
#define __maxnreg__(...)
#define __forceinline__ inline __attribute__((always_inline))
// Nothing: headers of the C++ library spell the compiler's own attribute that way.
#define __noinline__
#define __inline_hint__
#define __align__(n) __attribute__((aligned(n)))
// Of no use to a stub; and in the type of an instance of a template g++ does not leave it out.
#define __restrict__
#define __restrict

// Errors of tvm-ffi's tell where they were thrown.
#define TVMFFIBacktrace(file, line, ...)                                                       \
  TVMFFIBacktrace(file, ::tvmffi_cubin::CurrentLine(*::tvmffi_cubin::UnitTable(), file, line), \
                  __VA_ARGS__)

#define __CUDACC__
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0

// A kernel that is static, or in a namespace without a name, is hidden as it is.
#pragma GCC diagnostic ignored "-Wattributes"

#endif  // TVMFFI_CUBIN_MIXED_QUALIFIERS_H_
