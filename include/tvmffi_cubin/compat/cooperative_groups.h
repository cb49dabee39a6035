// CUDA's own header as a host compiler sees it, in a text that sees itself as CUDA's.
#pragma GCC system_header
#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#include_next <cooperative_groups.h>
#pragma pop_macro("__CUDACC__")
// It declares nothing then, and host code has names for it.
namespace cooperative_groups {}
