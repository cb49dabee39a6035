// Before a header of CCCL's that defines the integers of 64 bits: it does so under other names.
#include <cuda/std/climits>

#include "stdint.h"

#define int64_t tvmffi_cubin_cccl_int64_t
#define uint64_t tvmffi_cubin_cccl_uint64_t
#define int_least64_t tvmffi_cubin_cccl_int_least64_t
#define uint_least64_t tvmffi_cubin_cccl_uint_least64_t
#define int_fast16_t tvmffi_cubin_cccl_int_fast16_t
#define int_fast32_t tvmffi_cubin_cccl_int_fast32_t
#define uint_fast16_t tvmffi_cubin_cccl_uint_fast16_t
#define uint_fast32_t tvmffi_cubin_cccl_uint_fast32_t
#define int_fast64_t tvmffi_cubin_cccl_int_fast64_t
#define uint_fast64_t tvmffi_cubin_cccl_uint_fast64_t
#define intptr_t tvmffi_cubin_cccl_intptr_t
#define uintptr_t tvmffi_cubin_cccl_uintptr_t
#define intmax_t tvmffi_cubin_cccl_intmax_t
#define uintmax_t tvmffi_cubin_cccl_uintmax_t
#undef INT64_MIN
#undef INT64_MAX
#undef UINT64_MAX
