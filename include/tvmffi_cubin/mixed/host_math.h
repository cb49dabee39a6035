/*!
 * \file tvmffi_cubin/mixed/host_math.h
 * \brief What nvcc's own headers give host code beside the C library: min, max, rsqrt and a few.
 */
#ifndef TVMFFI_CUBIN_MIXED_HOST_MATH_H_
#define TVMFFI_CUBIN_MIXED_HOST_MATH_H_

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Not templates: arguments of two types are converted, and std's own are no rivals.
#define TVMFFI_CUBIN_MIN_MAX(T, A, B)                                                     \
  inline constexpr T min(A a, B b) {                                                      \
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a); \
  }                                                                                       \
  inline constexpr T max(A a, B b) {                                                      \
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a); \
  }
#define TVMFFI_CUBIN_MIN_MAX_INTEGERS(S)                   \
  TVMFFI_CUBIN_MIN_MAX(S, S, S)                            \
  TVMFFI_CUBIN_MIN_MAX(unsigned S, unsigned S, unsigned S) \
  TVMFFI_CUBIN_MIN_MAX(unsigned S, S, unsigned S)          \
  TVMFFI_CUBIN_MIN_MAX(unsigned S, unsigned S, S)

namespace tvmffi_cubin_math __attribute__((visibility("hidden"))) {
  TVMFFI_CUBIN_MIN_MAX_INTEGERS(int)
  TVMFFI_CUBIN_MIN_MAX_INTEGERS(long)       // NOLINT
  TVMFFI_CUBIN_MIN_MAX_INTEGERS(long long)  // NOLINT
  TVMFFI_CUBIN_MIN_MAX(float, float, float)
  TVMFFI_CUBIN_MIN_MAX(double, double, double)
  TVMFFI_CUBIN_MIN_MAX(double, float, double)
  TVMFFI_CUBIN_MIN_MAX(double, double, float)

  inline double rsqrt(double x) { return 1.0 / ::sqrt(x); }
  inline float rsqrtf(float x) { return 1.0f / ::sqrtf(x); }
  inline float rsqrt(float x) { return rsqrtf(x); }
}  // namespace tvmffi_cubin_math
using namespace tvmffi_cubin_math;  // NOLINT

#undef TVMFFI_CUBIN_MIN_MAX_INTEGERS
#undef TVMFFI_CUBIN_MIN_MAX

#endif  // TVMFFI_CUBIN_MIXED_HOST_MATH_H_
