// The short names of the type traits: std::is_same_v, std::enable_if_t and their like.
#ifndef TVMFFI_CUBIN_NVRTC_TYPE_TRAITS_NAMES_H_
#define TVMFFI_CUBIN_NVRTC_TYPE_TRAITS_NAMES_H_

#include "type_traits"

namespace std {

template <bool B, class T = void>
using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F>
using conditional_t = typename conditional<B, T, F>::type;
template <class T>
using type_identity_t = typename type_identity<T>::type;
template <class T>
using remove_const_t = typename remove_const<T>::type;
template <class T>
using remove_volatile_t = typename remove_volatile<T>::type;
template <class T>
using remove_cv_t = typename remove_cv<T>::type;
template <class T>
using remove_reference_t = typename remove_reference<T>::type;
template <class T>
using remove_cvref_t = typename remove_cvref<T>::type;
template <class T>
using remove_pointer_t = typename remove_pointer<T>::type;
template <class T>
using remove_extent_t = typename remove_extent<T>::type;
template <class T>
using add_const_t = typename add_const<T>::type;
template <class T>
using add_pointer_t = typename add_pointer<T>::type;
template <class T>
using underlying_type_t = typename underlying_type<T>::type;
template <class T>
using decay_t = typename decay<T>::type;

#if __cplusplus >= 201703L
template <class T>
inline constexpr bool is_void_v = is_void<T>::value;
template <class T>
inline constexpr bool is_null_pointer_v = is_null_pointer<T>::value;
template <class T>
inline constexpr bool is_integral_v = is_integral<T>::value;
template <class T>
inline constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T>
inline constexpr bool is_arithmetic_v = is_arithmetic<T>::value;
template <class T>
inline constexpr bool is_signed_v = is_signed<T>::value;
template <class T>
inline constexpr bool is_unsigned_v = is_unsigned<T>::value;
template <class T>
inline constexpr bool is_const_v = is_const<T>::value;
template <class T>
inline constexpr bool is_pointer_v = is_pointer<T>::value;
template <class T>
inline constexpr bool is_lvalue_reference_v = is_lvalue_reference<T>::value;
template <class T>
inline constexpr bool is_rvalue_reference_v = is_rvalue_reference<T>::value;
template <class T>
inline constexpr bool is_reference_v = is_reference<T>::value;
template <class T>
inline constexpr bool is_array_v = is_array<T>::value;
template <class T>
inline constexpr bool is_enum_v = is_enum<T>::value;
template <class T>
inline constexpr bool is_class_v = is_class<T>::value;
template <class T>
inline constexpr bool is_union_v = is_union<T>::value;
template <class T>
inline constexpr bool is_empty_v = is_empty<T>::value;
template <class T>
inline constexpr bool is_trivially_copyable_v = is_trivially_copyable<T>::value;
template <class T>
inline constexpr bool is_standard_layout_v = is_standard_layout<T>::value;
template <class T>
inline constexpr bool negation_v = negation<T>::value;
template <class T, class U>
inline constexpr bool is_same_v = is_same<T, U>::value;
template <class T, class U>
inline constexpr bool is_base_of_v = is_base_of<T, U>::value;
template <class T, class U>
inline constexpr bool is_convertible_v = is_convertible<T, U>::value;
template <class T, class... Args>
inline constexpr bool is_constructible_v = is_constructible<T, Args...>::value;
template <class... B>
inline constexpr bool conjunction_v = conjunction<B...>::value;
template <class... B>
inline constexpr bool disjunction_v = disjunction<B...>::value;
#endif

}  // namespace std

#endif  // TVMFFI_CUBIN_NVRTC_TYPE_TRAITS_NAMES_H_
