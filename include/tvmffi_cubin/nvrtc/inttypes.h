// Fixed-width integers with their printf formats.
#pragma once
#include "stdint.h"

#define PRId32 "d"
#define PRIi32 "i"
#define PRIu32 "u"
#define PRIx32 "x"
#define PRIX32 "X"
#ifdef TVMFFI_CUBIN_HOST_INTEGERS
#define TVMFFI_CUBIN_64 "l"
#else
#define TVMFFI_CUBIN_64 "ll"
#endif
#define PRId64 TVMFFI_CUBIN_64 "d"
#define PRIi64 TVMFFI_CUBIN_64 "i"
#define PRIu64 TVMFFI_CUBIN_64 "u"
#define PRIx64 TVMFFI_CUBIN_64 "x"
#define PRIX64 TVMFFI_CUBIN_64 "X"
