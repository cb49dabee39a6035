// CUDA's own header as a host compiler sees it, in code that sees a CUDA compiler.
#pragma GCC system_header
#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#include_next <cuda_fp16.h>
#pragma pop_macro("__CUDACC__")
