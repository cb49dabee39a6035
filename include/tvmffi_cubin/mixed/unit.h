// What begins the host text of a unit: CUDA's qualifiers and the unit's registration.
//
// The text sees itself compiled by a CUDA compiler, as with nvcc; headers included before do not.
#pragma once
// Words that CUDA's headers have defined may be defined again in a system header.
#pragma GCC system_header

#include "host.h"

TVMFFI_CUBIN_BEGIN

// The unit's own: defined by TVMFFI_CUBIN_MIXED_UNIT, once the unit has a name.
static const MixedTable* UnitTable();

// Before the registration of the unit, and the user's own initialisers.
template <auto kSelf, tvmffi_cubin_layout::_Word... kParams>
__attribute__((init_priority(101))) MixedNode KernelStub<kSelf, kParams...>::node{
    reinterpret_cast<const void*>(kSelf), typeid(KernelStub).name(), 0, sizeof...(kParams),
    UnitTable()};

template <auto kSelf, tvmffi_cubin_layout::_Word kLayout>
__attribute__((init_priority(101))) MixedNode DeviceVariable<kSelf, kLayout>::node{
    kSelf, typeid(DeviceVariable).name(), sizeof(*kSelf), 0, UnitTable()};

TVMFFI_CUBIN_END

// Begins the text of a unit; no other in the library has its tag.
#define TVMFFI_CUBIN_MIXED_UNIT(tag)                                                 \
  extern "C" __attribute__((visibility("hidden")))                                   \
  const ::tvmffi_cubin::MixedTable tvmffi_cubin_mixed_table_##tag;                   \
  TVMFFI_CUBIN_BEGIN                                                                 \
  static const MixedTable* UnitTable() { return &tvmffi_cubin_mixed_table_##tag; }   \
  __attribute__((init_priority(102))) static Registration registration(UnitTable()); \
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
