/*!
 * \file tvmffi_cubin/mixed/absent_params.h
 * \brief What a stub finds in the place of a parameter that `#if` has left out of its kernel.
 */
#ifndef TVMFFI_CUBIN_MIXED_ABSENT_PARAMS_H_
#define TVMFFI_CUBIN_MIXED_ABSENT_PARAMS_H_

#include "../core/namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Its type. */
struct AbsentParam {};

template <typename Function, typename... Rest>
struct PresentParams;
template <typename... Found>
struct PresentParams<void(Found...)> {
  using Type = void (*)(Found...);
};
template <typename... Found, typename First, typename... Rest>
struct PresentParams<void(Found...), First, Rest...>
    : PresentParams<void(Found..., First), Rest...> {};
template <typename... Found, typename... Rest>
struct PresentParams<void(Found...), const AbsentParam, Rest...>
    : PresentParams<void(Found...), Rest...> {};

/*! \brief The type of a kernel's address, by its parameters and those that are not there. */
template <typename... Params>
using KernelPointer = typename PresentParams<void(), Params...>::Type;

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

// The name of a parameter hides that of these. In no namespace, since kernels may be in any.
constexpr tvmffi_cubin::AbsentParam tvmffi_cubin_c0, tvmffi_cubin_c1, tvmffi_cubin_c2,
    tvmffi_cubin_c3, tvmffi_cubin_c4, tvmffi_cubin_c5, tvmffi_cubin_c6, tvmffi_cubin_c7,
    tvmffi_cubin_c8, tvmffi_cubin_c9, tvmffi_cubin_c10, tvmffi_cubin_c11, tvmffi_cubin_c12,
    tvmffi_cubin_c13, tvmffi_cubin_c14, tvmffi_cubin_c15;

#endif  // TVMFFI_CUBIN_MIXED_ABSENT_PARAMS_H_
