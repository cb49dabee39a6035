// malloc and free are NVRTC's own.
#ifndef TVMFFI_CUBIN_NVRTC_STDLIB_H_
#define TVMFFI_CUBIN_NVRTC_STDLIB_H_

#ifndef RAND_MAX
#define RAND_MAX 2147483647
#endif

#endif  // TVMFFI_CUBIN_NVRTC_STDLIB_H_
