// Comes before every source that NVRTC compiles: what nvcc offers without an include.
#ifndef TVMFFI_CUBIN_NVRTC_PRELUDE_H_
#define TVMFFI_CUBIN_NVRTC_PRELUDE_H_
#endif  // TVMFFI_CUBIN_NVRTC_PRELUDE_H_
