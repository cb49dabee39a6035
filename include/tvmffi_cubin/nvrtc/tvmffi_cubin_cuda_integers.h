// Before a header of CUDA's that makes integers of 64 bits of its own for NVRTC, and includes
// stdint.h elsewhere: where the integers are the host compiler's, it has to do the latter.
#ifdef TVMFFI_CUBIN_HOST_INTEGERS
// What it then includes, too: with the word defined.
#include <nv/target>

#include "cassert"
#include "stdint.h"
#undef __CUDACC_RTC__
#endif
