// What the host side of a mixed source compiles against: CUDA's own runtime header with its parts
// for nvcc, and what nvcc itself adds. unit.h comes after all headers.
#pragma once
// The user's warning flags are for the user's own code.
#pragma GCC system_header

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <new>
#include <type_traits>

#include "launch.h"

// The runtime's launch calls are ours. This precedes cuda_runtime_api.h, because a function's first
// declaration fixes its symbol.
#pragma redefine_extname cudaLaunchKernel tvmffi_cubin_launch
#pragma redefine_extname cudaLaunchKernel_ptsz tvmffi_cubin_launch
#pragma redefine_extname cudaLaunchCooperativeKernel tvmffi_cubin_launch_cooperative
#pragma redefine_extname cudaLaunchCooperativeKernel_ptsz tvmffi_cubin_launch_cooperative
#pragma redefine_extname cudaLaunchKernelExC tvmffi_cubin_launch_ex
#pragma redefine_extname cudaLaunchKernelExC_ptsz tvmffi_cubin_launch_ex

// Device functions belong to the other side: headers that declare them do nothing here.
#define __COMMON_FUNCTIONS_H__
#define __DEVICE_FUNCTIONS_H__
#define __MATH_FUNCTIONS_H__
#define __CUDACC__
#include <cuda_runtime.h>
#undef __CUDACC__

// ---- Functions that nvcc gives host code besides the C library's ----

// The empty pack makes other templates of these names better matches.
template <typename A, typename B, typename... None>
constexpr std::enable_if_t<!sizeof...(None), decltype(A() + B())> min(A a, B b, None...) {
  return b < a ? b : a;
}
template <typename A, typename B, typename... None>
constexpr std::enable_if_t<!sizeof...(None), decltype(A() + B())> max(A a, B b, None...) {
  return a < b ? b : a;
}

inline double rsqrt(double x) { return 1.0 / ::sqrt(x); }
inline float rsqrtf(float x) { return 1.0f / ::sqrtf(x); }
inline float rsqrt(float x) { return rsqrtf(x); }

// ---- Device functions that headers name; calling one is a linker error ----

void __syncthreads(...), __syncwarp(...), __threadfence(...), __threadfence_block(...);
int __syncthreads_and(...), __syncthreads_or(...), __syncthreads_count(...), __any_sync(...);
int __all_sync(...), __popc(...), __popcll(...), __clz(...), __clzll(...), __ffs(...), __dp4a(...);
unsigned __activemask(...), __ballot_sync(...), __brev(...), __byte_perm(...), __isLocal(...);
unsigned __vminu2(...), __vmins2(...), __vmaxu2(...), __vmaxs2(...);
size_t __cvta_generic_to_shared(...);
template <typename T>
T __shfl_sync(unsigned mask, T, ...);
template <typename T>
T __shfl_up_sync(unsigned mask, T, ...);
template <typename T>
T __shfl_down_sync(unsigned mask, T, ...);
template <typename T>
T __shfl_xor_sync(unsigned mask, T, ...);
template <typename T>
T __hfma2(T, T, T sum);
template <typename T>
T atomicAdd(T*, T);
template <typename T>
T atomicOr(T*, T);
