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

#include "launch.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
// Device functions belong to the other side: headers that declare them do nothing here.
#define __COMMON_FUNCTIONS_H__
#define __DEVICE_FUNCTIONS_H__
#define __MATH_FUNCTIONS_H__
#define __CUDACC__
#include <cuda_runtime.h>
#undef __CUDACC__
#endif

// ---- Functions that nvcc gives host code besides the C library's ----

// Not templates: arguments of mixed types convert, and std's own do not compete.
#define TVMFFI_CUBIN_MIN_MAX(T, A, B)                        \
  inline constexpr T min(A a, B b) { return b < a ? b : a; } \
  inline constexpr T max(A a, B b) { return a < b ? b : a; }
#define TVMFFI_CUBIN_MIN_MAX_INTEGERS(S)                   \
  TVMFFI_CUBIN_MIN_MAX(S, S, S)                            \
  TVMFFI_CUBIN_MIN_MAX(unsigned S, unsigned S, unsigned S) \
  TVMFFI_CUBIN_MIN_MAX(unsigned S, unsigned S, S)          \
  TVMFFI_CUBIN_MIN_MAX(unsigned S, S, unsigned S)

namespace tvmffi_cubin_math __attribute__((visibility("hidden"))) {
  TVMFFI_CUBIN_MIN_MAX_INTEGERS(int)
  TVMFFI_CUBIN_MIN_MAX_INTEGERS(long)
  TVMFFI_CUBIN_MIN_MAX_INTEGERS(long long)
  TVMFFI_CUBIN_MIN_MAX(float, float, float)
  TVMFFI_CUBIN_MIN_MAX(double, double, double)
  TVMFFI_CUBIN_MIN_MAX(double, float, double)
  TVMFFI_CUBIN_MIN_MAX(double, double, float)

  inline double rsqrt(double x) { return 1.0 / ::sqrt(x); }
  inline float rsqrtf(float x) { return 1.0f / ::sqrtf(x); }
  inline float rsqrt(float x) { return rsqrtf(x); }
}  // namespace tvmffi_cubin_math
using namespace tvmffi_cubin_math;

#undef TVMFFI_CUBIN_MIN_MAX_INTEGERS
#undef TVMFFI_CUBIN_MIN_MAX

// ---- Device functions that headers name; calling one is a linker error ----

void __syncthreads();
void __syncwarp(unsigned mask = 0xffffffffu);
void __threadfence();
void __threadfence_block();
int __syncthreads_and(int), __syncthreads_or(int), __syncthreads_count(int);
int __any_sync(unsigned mask, int), __all_sync(unsigned mask, int);
unsigned __activemask(), __ballot_sync(unsigned mask, int);
int __popc(unsigned), __popcll(unsigned long long), __isLocal(const void*);
size_t __cvta_generic_to_shared(const void*);
int __clz(int), __clzll(long long), __ffs(int);
unsigned __brev(unsigned), __byte_perm(unsigned, unsigned, unsigned selector);
int __dp4a(int, int, int sum);
unsigned __dp4a(unsigned, unsigned, unsigned sum);
unsigned __vminu2(unsigned, unsigned), __vmins2(unsigned, unsigned);
unsigned __vmaxu2(unsigned, unsigned), __vmaxs2(unsigned, unsigned);
template <typename T>
T __shfl_sync(unsigned mask, T, int lane, int width = 32);
template <typename T>
T __shfl_up_sync(unsigned mask, T, unsigned delta, int width = 32);
template <typename T>
T __shfl_down_sync(unsigned mask, T, unsigned delta, int width = 32);
template <typename T>
T __shfl_xor_sync(unsigned mask, T, int lanes, int width = 32);
template <typename T>
T __hfma2(T, T, T sum);
template <typename T>
T atomicAdd(T*, T);
template <typename T>
T atomicOr(T*, T);
