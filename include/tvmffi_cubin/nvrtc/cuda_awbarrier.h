// CUDA's, with the prelude's integers.
#include "tvmffi_cubin_cuda_integers.h"
#include_next <cuda_awbarrier.h>
#include "tvmffi_cubin_cuda_integers.h"
