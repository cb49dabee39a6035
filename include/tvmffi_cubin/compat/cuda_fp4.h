// CUDA's own header as a host compiler sees it, in code that sees a CUDA compiler.
#pragma GCC system_header
#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#if __has_include_next(<cuda_fp4.h>)  // not in every release
#include_next <cuda_fp4.h>
#endif
#pragma pop_macro("__CUDACC__")
