// CCCL's before CUDA 13, which defines integers. Those of device text of a mixed source are the
// host compiler's.
#ifdef TVMFFI_CUBIN_HOST_INTEGERS
#include "../../../stdint.h"
#else
#include_next <cuda/std/__cuda/cstdint_prelude.h>
#endif
