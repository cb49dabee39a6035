// std::begin, std::end, std::size and their kin, without what CCCL's <iterator> takes to compile.
#pragma once
#include "utility"

namespace std {

template <class Range>
constexpr auto begin(Range& range) -> decltype(range.begin()) {
  return range.begin();
}
template <class Range>
constexpr auto begin(const Range& range) -> decltype(range.begin()) {
  return range.begin();
}
template <class _T, size_t _N>
constexpr _T* begin(_T (&values)[_N]) noexcept {
  return values;
}
template <class Range>
constexpr auto end(Range& range) -> decltype(range.end()) {
  return range.end();
}
template <class Range>
constexpr auto end(const Range& range) -> decltype(range.end()) {
  return range.end();
}
template <class _T, size_t _N>
constexpr _T* end(_T (&values)[_N]) noexcept {
  return values + _N;
}

template <class Range>
constexpr auto cbegin(const Range& range) -> decltype(std::begin(range)) {
  return std::begin(range);
}
template <class Range>
constexpr auto cend(const Range& range) -> decltype(std::end(range)) {
  return std::end(range);
}

#if __cplusplus >= 201703L
template <class Range>
constexpr auto size(const Range& range) -> decltype(range.size()) {
  return range.size();
}
template <class _T, size_t _N>
constexpr size_t size(const _T (&)[_N]) noexcept {
  return _N;
}
template <class Range>
constexpr auto empty(const Range& range) -> decltype(range.empty()) {
  return range.empty();
}
template <class _T, size_t _N>
constexpr bool empty(const _T (&)[_N]) noexcept {
  return false;
}
template <class _T>
constexpr bool empty(initializer_list<_T> values) noexcept {
  return values.size() == 0;
}
template <class Range>
constexpr auto data(Range& range) -> decltype(range.data()) {
  return range.data();
}
template <class Range>
constexpr auto data(const Range& range) -> decltype(range.data()) {
  return range.data();
}
template <class _T, size_t _N>
constexpr _T* data(_T (&values)[_N]) noexcept {
  return values;
}
template <class _T>
constexpr const _T* data(initializer_list<_T> values) noexcept {
  return values.begin();
}
#endif

}  // namespace std
