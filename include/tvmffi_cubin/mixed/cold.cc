// Cold functions (core/namespace.h) for units of mixed sources: see tvmffi_cubin/cold.cc.
#define TVMFFI_CUBIN_COLD_KEPT
#include <cuda_runtime_api.h>

#include "../guide.h"
#include "../tvmffi_cubin.h"
#include "mixed.h"
