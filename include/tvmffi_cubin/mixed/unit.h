// What begins the host text of a unit: CUDA's qualifiers, stubs of kernels and the unit's
// registration. It is never precompiled: gcc loses the nodes' priority there.
//
// The text sees itself compiled by a CUDA compiler, as with nvcc; headers included before do not.
#pragma once
// Words that CUDA's headers have defined may be defined again in a system header.
#pragma GCC system_header

#include "host.h"

// The unit's own; no other in the library has its name, which the unit defines.
extern "C" __attribute__((visibility("hidden")))
const tvmffi_cubin::MixedTable TVMFFI_CUBIN_MIXED_TABLE;

TVMFFI_CUBIN_BEGIN

// One kernel, entered before the unit is registered, and before the user's own initialisers. The
// build finds in the object's symbols which there are, and their layout.
template <auto kSelf, tvmffi_cubin_layout::_Word... kParams>
struct KernelStub {
  __attribute__((init_priority(101))) static inline MixedNode node{
      reinterpret_cast<const void*>(kSelf), typeid(KernelStub).name(), 0, sizeof...(kParams),
      &TVMFFI_CUBIN_MIXED_TABLE};
};

// The same of a device variable.
template <auto kSelf, tvmffi_cubin_layout::_Word kLayout>
struct DeviceVariable {
  __attribute__((init_priority(101))) static inline MixedNode node{
      kSelf, typeid(DeviceVariable).name(), sizeof(*kSelf), 0, &TVMFFI_CUBIN_MIXED_TABLE};
};

__attribute__((init_priority(102))) static Registration registration(&TVMFFI_CUBIN_MIXED_TABLE);

// The body of a stub: the kernel's own address in parentheses, then its parameters.
template <auto kSelf, typename... Args>
inline __attribute__((always_inline)) void RunStub(Args&... args) {
  static_cast<void>(&KernelStub<kSelf, tvmffi_cubin_layout::_Of<Args>()...>::node);
  void* pointers[] = {
      const_cast<void*>(static_cast<const volatile void*>(__builtin_addressof(args)))..., nullptr};
  LaunchConfigured(reinterpret_cast<const void*>(kSelf), pointers);
}

TVMFFI_CUBIN_END

namespace tvmffi_cubin_layout {
template <int __number, typename>
__attribute__((visibility("hidden"))) char __told;
}

// Enters a device variable of the unit.
#define TVMFFI_CUBIN_DEVICE_VARIABLE(name) \
  template struct ::tvmffi_cubin::DeviceVariable<&name, tvmffi_cubin_layout::_Of<decltype(name)>()>;

// Libraries of templates ask which compiler of CUDA this is.
#define __NVCC__
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#define __host__
#define __device__
// A stub is a kernel's address to the runtime's calls, so it stays a function of its own.
#define __global__ __attribute__((noinline, visibility("hidden")))
#define __shared__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __block_size__(...)
#define __maxnreg__(...)
#define __forceinline__ inline __attribute__((always_inline))
// Nothing: headers of the C++ library spell the compiler's own attribute that way.
#define __noinline__
#define __inline_hint__
#define __align__(n) __attribute__((aligned(n)))
// Of no use to a stub; and in the type of an instance of a template g++ does not leave it out.
#define __restrict__
#define __restrict

// Before a function that is left as a declaration.
#define TVMFFI_CUBIN_DEVICE_ONLY \
  __attribute__((noinline, error("a __device__ function, which host code cannot call")))

// A kernel that is static, or in a namespace without a name, is hidden as it is.
#pragma GCC diagnostic ignored "-Wattributes"
