// Precedes every source that NVRTC compiles: what nvcc provides without an include.
#pragma once
#ifdef TVMFFI_CUBIN_NO_CMATH
#include "math.h"
#else
#include "cmath"
#endif

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
#ifdef TVMFFI_CUBIN_HOST_INTEGERS
// As in the host compiler: both sides of a mixed source use the same types.
typedef long int64_t;
typedef unsigned long uint64_t;
#else
// The same types as CCCL's: a second typedef must name the same type.
typedef long long int64_t;
typedef unsigned long long uint64_t;
#endif
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
typedef int64_t intmax_t;
typedef uint64_t uintmax_t;

typedef long ssize_t;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

// The host compiler's keyword that suppresses warnings, which NVRTC does not know.
#define __extension__

// The host compiler's alternate keywords that NVRTC lacks.
#define __asm asm
#define __asm__ asm
#define __const const
#define __const__ const
#define __signed signed
#define __signed__ signed
#define __volatile volatile

namespace std {
using ::ptrdiff_t;
using ::size_t;
using nullptr_t = decltype(nullptr);
using ::clock;
using ::clock_t;
using ::free;
using ::malloc;
using ::memcpy;
using ::memset;
using ::printf;
}  // namespace std

// Templates, so that the ordinary functions of cuda_device_runtime_api.h, which a source may
// include, neither redefine them nor make a call ambiguous.

// Waits until the grids that this one depends on have finished and their writes are visible.
template <class = void>
__device__ __forceinline__ void cudaGridDependencySynchronize() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the grids that depend on this one start, once every block has called it or ended.
template <class = void>
__device__ __forceinline__ void cudaTriggerProgrammaticLaunchCompletion() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// The host compiler's bit builtins, which nvcc knows in device code and NVRTC does not.
#if __cplusplus >= 201402L
// CUDA's own functions are not constexpr.
#define TVMFFI_CUBIN_BITS(TYPE, SUFFIX, CUDA_SUFFIX, SIGNED)                        \
  __host__ __device__ constexpr int __builtin_popcount##SUFFIX(unsigned TYPE __x) { \
    if (!__builtin_is_constant_evaluated()) return __popc##CUDA_SUFFIX(__x);        \
    int __n = 0;                                                                    \
    for (; __x; __x &= __x - 1) ++__n;                                              \
    return __n;                                                                     \
  }                                                                                 \
  __host__ __device__ constexpr int __builtin_ffs##SUFFIX(SIGNED __x) {             \
    if (!__builtin_is_constant_evaluated()) return __ffs##CUDA_SUFFIX(__x);         \
    int __n = 1;                                                                    \
    for (unsigned TYPE __bits = __x; __bits; __bits >>= 1, ++__n)                   \
      if (__bits & 1) return __n;                                                   \
    return 0;                                                                       \
  }                                                                                 \
  __host__ __device__ constexpr int __builtin_ctz##SUFFIX(unsigned TYPE __x) {      \
    return __builtin_ffs##SUFFIX(__x) - 1;                                          \
  }                                                                                 \
  __host__ __device__ constexpr int __builtin_clz##SUFFIX(unsigned TYPE __x) {      \
    if (!__builtin_is_constant_evaluated()) return __clz##CUDA_SUFFIX(__x);         \
    int __n = 8 * sizeof(__x);                                                      \
    for (; __x; __x >>= 1) --__n;                                                   \
    return __n;                                                                     \
  }

TVMFFI_CUBIN_BITS(int, , , int)
TVMFFI_CUBIN_BITS(long, l, ll, long)             // NOLINT
TVMFFI_CUBIN_BITS(long long, ll, ll, long long)  // NOLINT

#undef TVMFFI_CUBIN_BITS
#endif
