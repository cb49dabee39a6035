// The type traits that few kernels use.
#ifndef TVMFFI_CUBIN_NVRTC_TYPE_TRAITS_MORE_H_
#define TVMFFI_CUBIN_NVRTC_TYPE_TRAITS_MORE_H_

#include "type_traits"

namespace std {

template <class T>
struct add_volatile : type_identity<volatile T> {};
template <class T>
struct add_cv : type_identity<const volatile T> {};
template <class T>
struct remove_all_extents : type_identity<T> {};
template <class T>
struct remove_all_extents<T[]> : remove_all_extents<T> {};
template <class T, size_t N>
struct remove_all_extents<T[N]> : remove_all_extents<T> {};

// What cannot be referred to, such as void, stays what it is.
template <class T, class = void>
struct add_lvalue_reference : type_identity<T> {};
template <class T>
struct add_lvalue_reference<T, void_t<T&>> : type_identity<T&> {};
template <class T, class = void>
struct add_rvalue_reference : type_identity<T> {};
template <class T>
struct add_rvalue_reference<T, void_t<T&&>> : type_identity<T&&> {};
template <class T>
typename add_rvalue_reference<T>::type declval() noexcept;

// Aligned as the host's library has it, whatever the size.
template <size_t Bytes, size_t Alignment = 16>
struct aligned_storage {
  struct type {
    alignas(Alignment) unsigned char data[Bytes];
  };
};
template <class T>
struct alignment_of : integral_constant<size_t, alignof(T)> {};
template <class>
struct rank : integral_constant<size_t, 0> {};
template <class T>
struct rank<T[]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class T, size_t N>
struct rank<T[N]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class, unsigned I = 0>
struct extent : integral_constant<size_t, 0> {};
template <class T, unsigned I>
struct extent<T[], I> : integral_constant<size_t, I == 0 ? 0 : extent<T, I - 1>::value> {};
template <class T, size_t N, unsigned I>
struct extent<T[N], I> : integral_constant<size_t, I == 0 ? N : extent<T, I - 1>::value> {};
template <class T, size_t N>
struct extent<T[N], 0> : integral_constant<size_t, N> {};
template <class T>
struct extent<T[], 0> : integral_constant<size_t, 0> {};

template <size_t Bytes>
struct __tvmffi_cubin_integer;
template <>
struct __tvmffi_cubin_integer<1> {
  using Signed = signed char;
  using Unsigned = unsigned char;
};
template <>
struct __tvmffi_cubin_integer<2> {
  using Signed = short;
  using Unsigned = unsigned short;
};
template <>
struct __tvmffi_cubin_integer<4> {
  using Signed = int;
  using Unsigned = unsigned;
};
template <>
struct __tvmffi_cubin_integer<8> {
  using Signed = long long;
  using Unsigned = unsigned long long;
};
template <class T>
struct make_signed : type_identity<typename __tvmffi_cubin_integer<sizeof(T)>::Signed> {};
template <class T>
struct make_unsigned : type_identity<typename __tvmffi_cubin_integer<sizeof(T)>::Unsigned> {};
template <class T>
struct make_signed<const T> : add_const<typename make_signed<T>::type> {};
template <class T>
struct make_unsigned<const T> : add_const<typename make_unsigned<T>::type> {};
template <>
struct make_signed<long> : type_identity<long> {};
template <>
struct make_signed<unsigned long> : type_identity<long> {};
template <>
struct make_unsigned<long> : type_identity<unsigned long> {};
template <>
struct make_unsigned<unsigned long> : type_identity<unsigned long> {};

template <class...>
struct common_type {};
template <class T>
struct common_type<T> : common_type<T, T> {};
template <class T, class U, class = void>
struct __tvmffi_cubin_common {};
template <class T, class U>
struct __tvmffi_cubin_common<T, U, void_t<decltype(false ? declval<T>() : declval<U>())>>
    : decay<decltype(false ? declval<T>() : declval<U>())> {};
template <class T, class U>
struct common_type<T, U> : __tvmffi_cubin_common<T, U> {};
template <class T, class U, class V, class... Rest>
struct common_type<T, U, V, Rest...> : common_type<typename common_type<T, U>::type, V, Rest...> {};

template <class, class F, class... Args>
struct __tvmffi_cubin_call : false_type {};
template <class F, class... Args>
struct __tvmffi_cubin_call<void_t<decltype(declval<F>()(declval<Args>()...))>, F, Args...>
    : true_type {
  using result = decltype(declval<F>()(declval<Args>()...));
};
template <class F, class... Args>
struct is_invocable : bool_constant<__tvmffi_cubin_call<void, F, Args...>::value> {};
template <class F, class... Args>
struct invoke_result : type_identity<typename __tvmffi_cubin_call<void, F, Args...>::result> {};

template <class>
struct __tvmffi_cubin_member {
  static constexpr bool is_any = false, is_function = false;
};
template <class T, class Class>
struct __tvmffi_cubin_member<T Class::*> {
  static constexpr bool is_any = true;
  static constexpr bool is_function = !is_const<const T>::value && !is_reference<T>::value;
};

template <class T, class... Args>
struct is_nothrow_constructible : bool_constant<__is_nothrow_constructible(T, Args...)> {};
template <class T, class... Args>
struct is_trivially_constructible : bool_constant<__is_trivially_constructible(T, Args...)> {};
template <class T, class U>
struct is_assignable : bool_constant<__is_assignable(T, U)> {};
template <class T, class U>
struct is_trivially_assignable : bool_constant<__is_trivially_assignable(T, U)> {};
template <class T, class U>
struct is_nothrow_assignable : bool_constant<__is_nothrow_assignable(T, U)> {};

template <class T>
using add_volatile_t = typename add_volatile<T>::type;
template <class T>
using add_cv_t = typename add_cv<T>::type;
template <class T>
using remove_all_extents_t = typename remove_all_extents<T>::type;
template <class T>
using add_lvalue_reference_t = typename add_lvalue_reference<T>::type;
template <class T>
using add_rvalue_reference_t = typename add_rvalue_reference<T>::type;
template <size_t Bytes, size_t Alignment = alignof(typename aligned_storage<Bytes>::type)>
using aligned_storage_t = typename aligned_storage<Bytes, Alignment>::type;
template <class T>
using make_signed_t = typename make_signed<T>::type;
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;
template <class... T>
using common_type_t = typename common_type<T...>::type;
template <class F, class... Args>
using invoke_result_t = typename invoke_result<F, Args...>::type;

#if __cplusplus >= 201703L
template <class T>
inline constexpr size_t alignment_of_v = alignof(T);
template <class T>
inline constexpr size_t rank_v = rank<T>::value;
template <class T, unsigned I = 0>
inline constexpr size_t extent_v = extent<T, I>::value;
template <class F, class... Args>
inline constexpr bool is_invocable_v = is_invocable<F, Args...>::value;
template <class T, class... Args>
inline constexpr bool is_nothrow_constructible_v = is_nothrow_constructible<T, Args...>::value;
template <class T, class... Args>
inline constexpr bool is_trivially_constructible_v = is_trivially_constructible<T, Args...>::value;
template <class T, class U>
inline constexpr bool is_assignable_v = is_assignable<T, U>::value;
template <class T, class U>
inline constexpr bool is_trivially_assignable_v = is_trivially_assignable<T, U>::value;
template <class T, class U>
inline constexpr bool is_nothrow_assignable_v = is_nothrow_assignable<T, U>::value;
#define TVMFFI_CUBIN_TRAIT_V(NAME) \
  template <class T>               \
  inline constexpr bool NAME##_v = NAME<T>::value;
#else
#define TVMFFI_CUBIN_TRAIT_V(NAME)
#endif
#define TVMFFI_CUBIN_TRAIT(NAME, ...)                \
  template <class T>                                 \
  struct NAME : bool_constant<bool(__VA_ARGS__)> {}; \
  TVMFFI_CUBIN_TRAIT_V(NAME)

TVMFFI_CUBIN_TRAIT(is_volatile, !is_same<T, typename remove_volatile<T>::type>::value)
TVMFFI_CUBIN_TRAIT(is_function, !is_const<const T>::value && !is_reference<T>::value)
TVMFFI_CUBIN_TRAIT(is_fundamental,
                   is_arithmetic<T>::value || is_void<T>::value || is_null_pointer<T>::value)
TVMFFI_CUBIN_TRAIT(is_compound, !is_fundamental<T>::value)
TVMFFI_CUBIN_TRAIT(is_object,
                   !is_function<T>::value && !is_reference<T>::value && !is_void<T>::value)
TVMFFI_CUBIN_TRAIT(is_member_pointer, __tvmffi_cubin_member<typename remove_cv<T>::type>::is_any)
TVMFFI_CUBIN_TRAIT(is_member_function_pointer,
                   __tvmffi_cubin_member<typename remove_cv<T>::type>::is_function)
TVMFFI_CUBIN_TRAIT(is_member_object_pointer,
                   is_member_pointer<T>::value && !is_member_function_pointer<T>::value)
TVMFFI_CUBIN_TRAIT(is_scalar, is_arithmetic<T>::value || is_enum<T>::value ||
                                  is_pointer<T>::value || is_null_pointer<T>::value ||
                                  is_member_pointer<T>::value)
TVMFFI_CUBIN_TRAIT(is_trivial, __is_trivial(T))
TVMFFI_CUBIN_TRAIT(is_pod, __is_pod(T))
TVMFFI_CUBIN_TRAIT(is_final, __is_final(T))
TVMFFI_CUBIN_TRAIT(is_abstract, __is_abstract(T))
TVMFFI_CUBIN_TRAIT(is_polymorphic, __is_polymorphic(T))
TVMFFI_CUBIN_TRAIT(is_aggregate, __is_aggregate(T))
TVMFFI_CUBIN_TRAIT(is_trivially_destructible, __has_trivial_destructor(T))
TVMFFI_CUBIN_TRAIT(is_destructible, __is_destructible(T))
// Each of those that copy and move is there as such, as trivial and as one that throws nothing.
#define TVMFFI_CUBIN_TRAITS(NAME, WHAT, ...)                                  \
  TVMFFI_CUBIN_TRAIT(is_##NAME, __is_##WHAT(__VA_ARGS__))                     \
  TVMFFI_CUBIN_TRAIT(is_trivially_##NAME, __is_trivially_##WHAT(__VA_ARGS__)) \
  TVMFFI_CUBIN_TRAIT(is_nothrow_##NAME, __is_nothrow_##WHAT(__VA_ARGS__))
#define TVMFFI_CUBIN_CONST_REF typename add_lvalue_reference<const T>::type
TVMFFI_CUBIN_TRAITS(default_constructible, constructible, T)
TVMFFI_CUBIN_TRAITS(copy_constructible, constructible, T, TVMFFI_CUBIN_CONST_REF)
TVMFFI_CUBIN_TRAITS(move_constructible, constructible, T, typename add_rvalue_reference<T>::type)
TVMFFI_CUBIN_TRAITS(copy_assignable, assignable, typename add_lvalue_reference<T>::type,
                    TVMFFI_CUBIN_CONST_REF)
TVMFFI_CUBIN_TRAITS(move_assignable, assignable, typename add_lvalue_reference<T>::type,
                    typename add_rvalue_reference<T>::type)

#undef TVMFFI_CUBIN_CONST_REF
#undef TVMFFI_CUBIN_TRAITS
#undef TVMFFI_CUBIN_TRAIT
#undef TVMFFI_CUBIN_TRAIT_V

}  // namespace std

#endif  // TVMFFI_CUBIN_NVRTC_TYPE_TRAITS_MORE_H_
