/*!
 * \file cooperative_groups.h
 * \brief CUDA's own header as a host compiler sees it, in a text that sees itself as CUDA's.
 */
#ifndef TVMFFI_CUBIN_COMPAT_COOPERATIVE_GROUPS_H_
#define TVMFFI_CUBIN_COMPAT_COOPERATIVE_GROUPS_H_
#pragma GCC system_header

#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#include_next <cooperative_groups.h>
#pragma pop_macro("__CUDACC__")

// Where __CUDACC__ is not defined it declares nothing, and sources of host code alone have names
// for this namespace, too.
namespace cooperative_groups {}

#endif  // TVMFFI_CUBIN_COMPAT_COOPERATIVE_GROUPS_H_
