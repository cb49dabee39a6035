// What binds members of classes: std::tuple_size and std::tuple_element.
#pragma once
#include "type_traits"

// CCCL's headers are for C++17 and later.
#if __cplusplus >= 201703L && __has_include(<cuda/std/__cccl/version.h>)
#include <cuda/std/__cccl/version.h>
#endif
#if CCCL_VERSION >= 3002000
// CCCL defines them in std itself.
#include <cuda/std/__tuple_dir/structured_bindings.h>
#else
namespace std {
// Declared as CCCL does, which has its own for its own types.
template <class...>
struct tuple_size;
template <size_t, class...>
struct tuple_element;
// Of a class without one there is none either: its members are bound by themselves.
template <class _T, size_t = sizeof(tuple_size<_T>)>
using __tvmffi_cubin_sized = _T;
template <class _T>
struct tuple_size<const __tvmffi_cubin_sized<_T>> : tuple_size<_T> {};
template <size_t _I, class _T>
struct tuple_element<_I, const _T> : add_const<typename tuple_element<_I, _T>::type> {};
}  // namespace std
#endif
