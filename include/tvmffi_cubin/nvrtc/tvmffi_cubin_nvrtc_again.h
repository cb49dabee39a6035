// Behind tvmffi_cubin_cuda_integers.h and CUDA's header. NVRTC has no push_macro.
#ifdef TVMFFI_CUBIN_HOST_INTEGERS
#define __CUDACC_RTC__ 1
#endif
