// Included before and after a CUDA header that defines its own 64-bit integers for NVRTC, and
// includes stdint.h otherwise: with the host compiler's integers, it has to do the latter. NVRTC
// has no push_macro.
#if defined(TVMFFI_CUBIN_HOST_INTEGERS) && defined(__CUDACC_RTC__)
// What that header then includes, included here with the macro defined.
#include <nv/target>

#include "stdint.h"
#undef __CUDACC_RTC__
#elif defined(TVMFFI_CUBIN_HOST_INTEGERS)
#define __CUDACC_RTC__ 1
#endif
