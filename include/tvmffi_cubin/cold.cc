// Cold functions (core/namespace.h), compiled beside the precompiled headers that only declare it.
#define TVMFFI_CUBIN_COLD_KEPT
#include <cuda_runtime_api.h>

#include "guide.h"
#include "tvmffi_cubin.h"
