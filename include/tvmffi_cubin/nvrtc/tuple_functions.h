// What works on whole tuples: std::apply, std::tuple_cat, std::get of a type, comparisons.
#ifndef TVMFFI_CUBIN_NVRTC_TUPLE_FUNCTIONS_H_
#define TVMFFI_CUBIN_NVRTC_TUPLE_FUNCTIONS_H_

#include "tuple"

namespace std {

// Takes any value and keeps none.
struct __tvmffi_cubin_ignore {
  template <class T>
  constexpr const __tvmffi_cubin_ignore& operator=(const T&) const {
    return *this;
  }
};
#if __cplusplus >= 201703L
inline constexpr __tvmffi_cubin_ignore ignore{};
#endif

template <class T, class... List>
struct __tvmffi_cubin_index_of;
template <class T, class... Rest>
struct __tvmffi_cubin_index_of<T, T, Rest...> : integral_constant<size_t, 0> {};
template <class T, class First, class... Rest>
struct __tvmffi_cubin_index_of<T, First, Rest...>
    : integral_constant<size_t, __tvmffi_cubin_index_of<T, Rest...>::value + 1> {};

template <class T, class... List>
constexpr const T& get(const tuple<List...>& from) {
  return get<__tvmffi_cubin_index_of<T, List...>::value>(from);
}
template <class T, class... List>
TVMFFI_CUBIN_CONSTEXPR_14 T& get(tuple<List...>& from) {
  return get<__tvmffi_cubin_index_of<T, List...>::value>(from);
}

#if __cplusplus >= 201402L
template <class F, class Tuple, size_t... I>
constexpr decltype(auto) __tvmffi_cubin_apply(F&& f, Tuple&& args, index_sequence<I...>) {
  return static_cast<F&&>(f)(get<I>(static_cast<Tuple&&>(args))...);
}
template <class F, class Tuple>
constexpr decltype(auto) apply(F&& f, Tuple&& args) {
  return __tvmffi_cubin_apply(static_cast<F&&>(f), static_cast<Tuple&&>(args),
                              make_index_sequence<tuple_size<decay_t<Tuple>>::value>());
}
template <class T>
struct __tvmffi_cubin_maker {
  template <class... Args>
  constexpr T operator()(Args&&... args) const {
    return T(static_cast<Args&&>(args)...);
  }
};
template <class T, class Tuple>
constexpr T make_from_tuple(Tuple&& args) {
  return apply(__tvmffi_cubin_maker<T>(), static_cast<Tuple&&>(args));
}

constexpr tuple<> tuple_cat() { return {}; }
template <class... T>
constexpr tuple<T...> tuple_cat(const tuple<T...>& only) {
  return only;
}
template <class... T, class... U, size_t... I, size_t... J>
constexpr tuple<T..., U...> __tvmffi_cubin_cat(const tuple<T...>& one, const tuple<U...>& two,
                                               index_sequence<I...>, index_sequence<J...>) {
  return tuple<T..., U...>(get<I>(one)..., get<J>(two)...);
}
template <class... T, class... U, class... Rest>
constexpr auto tuple_cat(const tuple<T...>& one, const tuple<U...>& two, const Rest&... rest) {
  return tuple_cat(
      __tvmffi_cubin_cat(one, two, index_sequence_for<T...>(), index_sequence_for<U...>()),
      rest...);
}
#endif

template <size_t I, size_t N>
struct __tvmffi_cubin_compare {
  template <class A, class B>
  static constexpr bool Equal(const A& a, const B& b) {
    return get<I>(a) == get<I>(b) && __tvmffi_cubin_compare<I + 1, N>::Equal(a, b);
  }
  template <class A, class B>
  static constexpr bool Less(const A& a, const B& b) {
    return get<I>(a) < get<I>(b) ||
           (!(get<I>(b) < get<I>(a)) && __tvmffi_cubin_compare<I + 1, N>::Less(a, b));
  }
};
template <size_t N>
struct __tvmffi_cubin_compare<N, N> {
  template <class A, class B>
  static constexpr bool Equal(const A&, const B&) {
    return true;
  }
  template <class A, class B>
  static constexpr bool Less(const A&, const B&) {
    return false;
  }
};
template <class... T, class... U>
constexpr bool operator==(const tuple<T...>& a, const tuple<U...>& b) {
  return __tvmffi_cubin_compare<0, sizeof...(T)>::Equal(a, b);
}
template <class... T, class... U>
constexpr bool operator!=(const tuple<T...>& a, const tuple<U...>& b) {
  return !(a == b);
}
template <class... T, class... U>
constexpr bool operator<(const tuple<T...>& a, const tuple<U...>& b) {
  return __tvmffi_cubin_compare<0, sizeof...(T)>::Less(a, b);
}
template <class... T, class... U>
constexpr bool operator>(const tuple<T...>& a, const tuple<U...>& b) {
  return b < a;
}
template <class... T, class... U>
constexpr bool operator<=(const tuple<T...>& a, const tuple<U...>& b) {
  return !(b < a);
}
template <class... T, class... U>
constexpr bool operator>=(const tuple<T...>& a, const tuple<U...>& b) {
  return !(a < b);
}

}  // namespace std

#endif  // TVMFFI_CUBIN_NVRTC_TUPLE_FUNCTIONS_H_
