// Cold functions (core/namespace.h), compiled beside the precompiled headers that only declare it.
#define TVMFFI_CUBIN_COLD_KEPT
#include <tvm/ffi/extra/cuda/internal/unified_api.h>

#include "tvmffi_cubin.h"
