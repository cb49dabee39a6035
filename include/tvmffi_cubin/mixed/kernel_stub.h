/*!
 * \file tvmffi_cubin/mixed/kernel_stub.h
 * \brief What a kernel is in host code: a function that launches, found by type or by address.
 */
#ifndef TVMFFI_CUBIN_MIXED_KERNEL_STUB_H_
#define TVMFFI_CUBIN_MIXED_KERNEL_STUB_H_

#include <memory>
#include <type_traits>
#include <typeinfo>

#include "absent_params.h"
#include "kernel_calls.h"
#include "kernel_launch.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief One kernel, by the function that stands for it. The build finds in the object's symbols
 * which there are: `tvmffi_cubin::v0_1::KernelStub<&(k<float>(float*))>::slot`.
 */
template <auto kSelf>
struct KernelStub {
  static const char* Name() { return typeid(KernelStub).name(); }
  static KernelSlot slot;
};

/*! \brief The sizes of a function's parameters. */
template <typename Function>
struct ParametersOf;
template <typename... Params>
struct ParametersOf<void (*)(Params...)> {
  static constexpr size_t kCount = sizeof...(Params);
  static constexpr size_t kSizes[kCount + 1] = {sizeof(Params)..., 0};
};

template <auto kSelf>
KernelSlot KernelStub<kSelf>::slot{&KernelStub<kSelf>::Name, ParametersOf<decltype(kSelf)>::kSizes,
                                   ParametersOf<decltype(kSelf)>::kCount, &UnitTable};

/*! \brief The same function's address, entered before the user's own initialisers run. */
template <auto kSelf>
struct StubAddress {
  static const KernelAddress entered;
};

template <auto kSelf>
TVMFFI_CUBIN_ENTERED_FIRST const KernelAddress StubAddress<kSelf>::entered(
    reinterpret_cast<const void*>(kSelf), &KernelStub<kSelf>::slot, &mixed_kernel_calls);

/*! \brief The body of a stub. */
template <auto kSelf, typename... Args>
inline __attribute__((always_inline)) void RunStub(Args&... args) {
  static_cast<void>(&StubAddress<kSelf>::entered);  // which enters it
  void* pointers[] = {const_cast<void*>(static_cast<const volatile void*>(std::addressof(args)))...,
                      nullptr};
  if constexpr ((std::is_same_v<Args, const AbsentParam> || ...)) {
    constexpr bool kAbsent[] = {std::is_same_v<Args, const AbsentParam>...};
    size_t count = 0;
    for (size_t i = 0; i < sizeof...(Args); ++i) {
      if (!kAbsent[i]) pointers[count++] = pointers[i];
    }
  }
  LaunchPending(&KernelStub<kSelf>::slot, pointers);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

/*!
 * \brief Stands for a kernel's body: `TVMFFI_CUBIN_STUB((&k<T>), x, n)`.
 * \param self The kernel's own address, in parentheses; the parameters follow.
 */
#define TVMFFI_CUBIN_STUB(self, ...)            \
  {                                             \
    ::tvmffi_cubin::RunStub<self>(__VA_ARGS__); \
  }

#endif  // TVMFFI_CUBIN_MIXED_KERNEL_STUB_H_
