// CCCL's. Where the integers are the host compiler's, as in the device text of a mixed source, its
// own are others.
#ifdef TVMFFI_CUBIN_HOST_INTEGERS
#include "../../../tvmffi_cubin_cccl_integers.h"
#endif
#include_next <cuda/std/__cuda/cstdint_prelude.h>
#ifdef TVMFFI_CUBIN_HOST_INTEGERS
#include "../../../tvmffi_cubin_own_integers.h"
#endif
