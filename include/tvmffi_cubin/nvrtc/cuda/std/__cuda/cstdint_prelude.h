// CCCL's header before CUDA 13, which defines integers. In the device code of a mixed source, they
// are the host compiler's.
#ifdef TVMFFI_CUBIN_HOST_INTEGERS
#include "../../../stdint.h"
#else
#include_next <cuda/std/__cuda/cstdint_prelude.h>
#endif
