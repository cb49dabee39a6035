// Fixed-width integers, in std too; some of the types are in the prelude.
#pragma once
#include "limits.h"

typedef int8_t int_least8_t;
typedef int16_t int_least16_t;
typedef int32_t int_least32_t;
typedef int64_t int_least64_t;
typedef uint8_t uint_least8_t;
typedef uint16_t uint_least16_t;
typedef uint32_t uint_least32_t;
typedef uint64_t uint_least64_t;
typedef int8_t int_fast8_t;
typedef int64_t int_fast64_t;
typedef uint8_t uint_fast8_t;
typedef uint64_t uint_fast64_t;

#ifdef TVMFFI_CUBIN_HOST_INTEGERS
typedef int64_t int_fast16_t;
typedef int64_t int_fast32_t;
typedef uint64_t uint_fast16_t;
typedef uint64_t uint_fast32_t;
#define INT64_MIN (-INT64_MAX - 1)
#define INT64_MAX 0x7fffffffffffffffL
#define UINT64_MAX 0xffffffffffffffffUL
#else
typedef int16_t int_fast16_t;
typedef int32_t int_fast32_t;
typedef uint16_t uint_fast16_t;
typedef uint32_t uint_fast32_t;
// Token for token as in CCCL, like those below, since it redefines them unconditionally.
#define INT64_MIN LLONG_MIN
#define INT64_MAX LLONG_MAX
#define UINT64_MAX ULLONG_MAX
#endif
#define INT8_MIN SCHAR_MIN
#define INT16_MIN SHRT_MIN
#define INT32_MIN INT_MIN
#define INT8_MAX SCHAR_MAX
#define INT16_MAX SHRT_MAX
#define INT32_MAX INT_MAX
#define UINT8_MAX UCHAR_MAX
#define UINT16_MAX USHRT_MAX
#define UINT32_MAX UINT_MAX
#define INTPTR_MIN INT64_MIN
#define INTPTR_MAX INT64_MAX
#define UINTPTR_MAX UINT64_MAX
#define INTMAX_MIN INT64_MIN
#define INTMAX_MAX INT64_MAX
#define UINTMAX_MAX UINT64_MAX
#define SIZE_MAX UINT64_MAX

#define TVMFFI_CUBIN_INTEGERS                                                  \
  using ::int8_t, ::int16_t, ::int32_t, ::int64_t;                             \
  using ::uint8_t, ::uint16_t, ::uint32_t, ::uint64_t;                         \
  using ::int_least8_t, ::int_least16_t, ::int_least32_t, ::int_least64_t;     \
  using ::uint_least8_t, ::uint_least16_t, ::uint_least32_t, ::uint_least64_t; \
  using ::int_fast8_t, ::int_fast16_t, ::int_fast32_t, ::int_fast64_t;         \
  using ::uint_fast8_t, ::uint_fast16_t, ::uint_fast32_t, ::uint_fast64_t;     \
  using ::intptr_t, ::uintptr_t, ::intmax_t, ::uintmax_t;

namespace std {
TVMFFI_CUBIN_INTEGERS
}
