// CCCL's own header, which detects the compiler: here, a host compiler.
#pragma GCC system_header
#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#if __has_include_next(<cuda/std/__cccl/compiler.h>)  // not in every release
#include_next <cuda/std/__cccl/compiler.h>
#endif
#pragma pop_macro("__CUDACC__")
