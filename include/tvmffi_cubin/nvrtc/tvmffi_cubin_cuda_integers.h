// Before and behind a header of CUDA's that makes integers of 64 bits of its own for NVRTC, and
// includes stdint.h elsewhere: where the integers are the host compiler's, it has to do the latter.
// NVRTC has no push_macro.
#if defined(TVMFFI_CUBIN_HOST_INTEGERS) && defined(__CUDACC_RTC__)
// What it then includes, too: with the word defined.
#include <nv/target>

#include "stdint.h"
#undef __CUDACC_RTC__
#elif defined(TVMFFI_CUBIN_HOST_INTEGERS)
#define __CUDACC_RTC__ 1
#endif
