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

// Lists a kernel, whose size is 0, or a device variable, before the unit is registered and the
// user's own initializers run. The build reads all of them, and their layouts, from the object's
// symbols.
template <auto kSelf,
          size_t kSize = (tvmffi_cubin_layout::_own<std::remove_pointer_t<decltype(kSelf)>> >> 8),
          typename = decltype(tvmffi_cubin_layout::_Layouts(kSelf))>
struct Listed;
template <auto kSelf, size_t kSize, tvmffi_cubin_layout::_Word... kLayouts>
struct Listed<kSelf, kSize, tvmffi_cubin_layout::_Words<kLayouts...>> {
  __attribute__((init_priority(101))) static inline MixedNode node{
      reinterpret_cast<const volatile void*>(kSelf), typeid(Listed).name(), kSize,
      sizeof...(kLayouts) / 2, &TVMFFI_CUBIN_MIXED_TABLE};
};

__attribute__((init_priority(102))) static Registration registration(&TVMFFI_CUBIN_MIXED_TABLE);

// The body of a stub, from the kernel's own address, in parentheses, and its parameters.
template <auto kSelf, typename... Args>
inline __attribute__((always_inline)) void RunStub(Args&... args) {
  static_cast<void>(&Listed<kSelf>::node);
  void* pointers[] = {(void*)__builtin_addressof(args)..., nullptr};  // NOLINT
  LaunchConfigured(reinterpret_cast<const void*>(kSelf), pointers);
}

TVMFFI_CUBIN_END

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

// A kernel that is static, or in an unnamed namespace, is hidden anyway.
#pragma GCC diagnostic ignored "-Wattributes"
