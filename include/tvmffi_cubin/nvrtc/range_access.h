// std::begin, std::end, std::size and their kin, without what CCCL's <iterator> takes to compile.
#ifndef TVMFFI_CUBIN_NVRTC_RANGE_ACCESS_H_
#define TVMFFI_CUBIN_NVRTC_RANGE_ACCESS_H_

#include "initializer_list"
#include "utility"

namespace std {

template <class Range>
TVMFFI_CUBIN_CONSTEXPR_14 auto begin(Range& range) -> decltype(range.begin()) {
  return range.begin();
}
template <class Range>
constexpr auto begin(const Range& range) -> decltype(range.begin()) {
  return range.begin();
}
template <class T, size_t N>
TVMFFI_CUBIN_CONSTEXPR_14 T* begin(T (&values)[N]) noexcept {
  return values;
}
template <class Range>
TVMFFI_CUBIN_CONSTEXPR_14 auto end(Range& range) -> decltype(range.end()) {
  return range.end();
}
template <class Range>
constexpr auto end(const Range& range) -> decltype(range.end()) {
  return range.end();
}
template <class T, size_t N>
TVMFFI_CUBIN_CONSTEXPR_14 T* end(T (&values)[N]) noexcept {
  return values + N;
}

#if __cplusplus >= 201402L
template <class Range>
constexpr auto cbegin(const Range& range) -> decltype(std::begin(range)) {
  return std::begin(range);
}
template <class Range>
constexpr auto cend(const Range& range) -> decltype(std::end(range)) {
  return std::end(range);
}
#endif

#if __cplusplus >= 201703L
template <class Range>
constexpr auto size(const Range& range) -> decltype(range.size()) {
  return range.size();
}
template <class T, size_t N>
constexpr size_t size(const T (&)[N]) noexcept {
  return N;
}
template <class Range>
constexpr auto empty(const Range& range) -> decltype(range.empty()) {
  return range.empty();
}
template <class T, size_t N>
constexpr bool empty(const T (&)[N]) noexcept {
  return false;
}
template <class T>
constexpr bool empty(initializer_list<T> values) noexcept {
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
template <class T, size_t N>
constexpr T* data(T (&values)[N]) noexcept {
  return values;
}
template <class T>
constexpr const T* data(initializer_list<T> values) noexcept {
  return values.begin();
}
#endif

}  // namespace std

#endif  // TVMFFI_CUBIN_NVRTC_RANGE_ACCESS_H_
