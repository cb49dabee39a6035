// Precedes the device side of a mixed source: names from the host's headers.
//
// The host compiler's preprocessor expands C library macros, which name its builtins.
#pragma once

#include <cuda.h>

#include "layout.h"

#define __null 0
#define __builtin_inff() __builtin_bit_cast(float, 0x7f800000)
#define __builtin_inf() __builtin_bit_cast(double, 0x7ff0000000000000ll)
#define __builtin_huge_valf() __builtin_inff()
#define __builtin_huge_val() __builtin_inf()
#define __builtin_nanf(text) __builtin_bit_cast(float, 0x7fffffff)
#define __builtin_nan(text) __builtin_bit_cast(double, 0x7fffffffffffffffll)
#define __builtin_memcpy memcpy
#define __builtin_memset memset
#define __builtin_offsetof(type, member) (::size_t)__INTADDR__(&((type*)0)->member)

// NVRTC 13.0 has library_types.h built in without these types, which cublas_v2.h names.
#if __CUDACC_VER_MAJOR__ == 13 && __CUDACC_VER_MINOR__ == 0
typedef enum cudaEmulationMantissaControl_t {} cudaEmulationMantissaControl;
typedef enum cudaEmulationSpecialValuesSupport_t {} cudaEmulationSpecialValuesSupport;
#endif

extern "C" __device__ void __assert_fail(const char*, const char*, unsigned, const char*) throw();

// The parameter that replaces those of a host constructor with host-only types.
template <int>
struct tvmffi_cubin_host_only;
