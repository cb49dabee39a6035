// Starts the host code of a unit: CUDA's qualifiers, kernel stubs and the unit's registration. It
// is never precompiled: gcc would lose the init_priority of the nodes.
//
// As with nvcc, the code sees a CUDA compiler; headers included before do not.
#pragma once
// A system header may redefine macros that CUDA's headers have defined.
#pragma GCC system_header

#include "host.h"

// The unit's own; the unit defines its name, which is unique in the library.
extern "C" __attribute__((visibility("hidden")))
const tvmffi_cubin::MixedTable TVMFFI_CUBIN_MIXED_TABLE;

TVMFFI_CUBIN_BEGIN

// One kernel, listed before the unit is registered and before the user's own initializers run. The
// build reads from the object's symbols which kernels there are, and their layout.
template <auto kSelf, tvmffi_cubin_layout::_Word... kParams>
struct KernelStub {
  __attribute__((init_priority(101))) static inline MixedNode node{
      reinterpret_cast<const void*>(kSelf), typeid(KernelStub).name(), 0, sizeof...(kParams) / 2,
      &TVMFFI_CUBIN_MIXED_TABLE};
};

// The same for a device variable.
template <auto kSelf, tvmffi_cubin_layout::_Word... kLayout>
struct DeviceVariable {
  __attribute__((init_priority(101))) static inline MixedNode node{
      kSelf, typeid(DeviceVariable).name(), sizeof(*kSelf), 0, &TVMFFI_CUBIN_MIXED_TABLE};
};

__attribute__((init_priority(102))) static Registration registration(&TVMFFI_CUBIN_MIXED_TABLE);

// The body of a stub, from the kernel's own address, in parentheses, and its parameters.
template <auto kSelf, typename... Args>
inline __attribute__((always_inline)) void RunStub(Args&... args) {
  static_cast<void>(&KernelStub<kSelf, tvmffi_cubin_layout::_own<Args>...,
                                tvmffi_cubin_layout::_inner<Args>...>::node);
  void* pointers[] = {
      const_cast<void*>(static_cast<const volatile void*>(__builtin_addressof(args)))..., nullptr};
  LaunchConfigured(reinterpret_cast<const void*>(kSelf), pointers);
}

TVMFFI_CUBIN_END

// Lists a device variable of the unit.
#define TVMFFI_CUBIN_DEVICE_VARIABLE(name)                                                         \
  template struct ::tvmffi_cubin::DeviceVariable<&name, tvmffi_cubin_layout::_own<decltype(name)>, \
                                                 tvmffi_cubin_layout::_inner<decltype(name)>>;

// Template libraries check which CUDA compiler this is.
#define __NVCC__
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#define __launch_bounds__(...)
// To the runtime, a stub's address is the kernel, so it must remain a separate function.
#define __global__ __attribute__((noinline, visibility("hidden")))
// Empty: C++ library headers spell the compiler's own attribute that way.
#define __noinline__
// Useless in a stub; and g++ does not drop it from the type of a template instance.
#define __restrict__
#define __restrict

// Precedes a function that is kept only as a declaration.
#define TVMFFI_CUBIN_DEVICE_ONLY \
  __attribute__((noinline, error("host code cannot call a __device__ function")))

// A kernel that is static, or in an unnamed namespace, is hidden anyway.
#pragma GCC diagnostic ignored "-Wattributes"
