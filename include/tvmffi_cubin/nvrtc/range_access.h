// std::begin, std::end, std::size and their kin, without what CCCL's <iterator> takes to compile.
#pragma once
#include "utility"

namespace std {

template <class _Range>
constexpr auto begin(_Range& __range) -> decltype(__range.begin()) {
  return __range.begin();
}
template <class _Range>
constexpr auto begin(const _Range& __range) -> decltype(__range.begin()) {
  return __range.begin();
}
template <class _T, size_t _N>
constexpr _T* begin(_T (&__values)[_N]) noexcept {
  return __values;
}
template <class _Range>
constexpr auto end(_Range& __range) -> decltype(__range.end()) {
  return __range.end();
}
template <class _Range>
constexpr auto end(const _Range& __range) -> decltype(__range.end()) {
  return __range.end();
}
template <class _T, size_t _N>
constexpr _T* end(_T (&__values)[_N]) noexcept {
  return __values + _N;
}

template <class _Range>
constexpr auto cbegin(const _Range& __range) -> decltype(std::begin(__range)) {
  return std::begin(__range);
}
template <class _Range>
constexpr auto cend(const _Range& __range) -> decltype(std::end(__range)) {
  return std::end(__range);
}

#if __cplusplus >= 201703L
template <class _Range>
constexpr auto size(const _Range& __range) -> decltype(__range.size()) {
  return __range.size();
}
template <class _T, size_t _N>
constexpr size_t size(const _T (&)[_N]) noexcept {
  return _N;
}
template <class _Range>
constexpr auto empty(const _Range& __range) -> decltype(__range.empty()) {
  return __range.empty();
}
template <class _T, size_t _N>
constexpr bool empty(const _T (&)[_N]) noexcept {
  return false;
}
template <class _T>
constexpr bool empty(initializer_list<_T> __values) noexcept {
  return __values.size() == 0;
}
template <class _Range>
constexpr auto data(_Range& __range) -> decltype(__range.data()) {
  return __range.data();
}
template <class _Range>
constexpr auto data(const _Range& __range) -> decltype(__range.data()) {
  return __range.data();
}
template <class _T, size_t _N>
constexpr _T* data(_T (&__values)[_N]) noexcept {
  return __values;
}
template <class _T>
constexpr const _T* data(initializer_list<_T> __values) noexcept {
  return __values.begin();
}
#endif

}  // namespace std
