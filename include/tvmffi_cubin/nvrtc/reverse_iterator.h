// std::reverse_iterator, for std::array; what makes and takes others is CCCL's <iterator>.
#ifndef TVMFFI_CUBIN_NVRTC_REVERSE_ITERATOR_H_
#define TVMFFI_CUBIN_NVRTC_REVERSE_ITERATOR_H_

#include "utility"

namespace std {

template <class Iterator>
class reverse_iterator {
 public:
  using iterator_type = Iterator;
  using difference_type = ptrdiff_t;
  using reference = decltype(*declval<Iterator&>());
  using value_type = remove_cvref_t<reference>;
  using pointer = Iterator;

  constexpr reverse_iterator() : current() {}
  constexpr explicit reverse_iterator(Iterator from) : current(from) {}
  template <class From>
  constexpr reverse_iterator(const reverse_iterator<From>& from) : current(from.base()) {}

  constexpr Iterator base() const { return current; }
  constexpr reference operator*() const { return *(current - 1); }
  constexpr pointer operator->() const { return current - 1; }
  constexpr reference operator[](difference_type n) const { return *(current - n - 1); }
  constexpr reverse_iterator operator+(difference_type n) const {
    return reverse_iterator(current - n);
  }
  constexpr reverse_iterator operator-(difference_type n) const {
    return reverse_iterator(current + n);
  }
  TVMFFI_CUBIN_CONSTEXPR_14 reverse_iterator& operator+=(difference_type n) {
    current -= n;
    return *this;
  }
  TVMFFI_CUBIN_CONSTEXPR_14 reverse_iterator& operator-=(difference_type n) { return *this += -n; }
  TVMFFI_CUBIN_CONSTEXPR_14 reverse_iterator& operator++() { return *this += 1; }
  TVMFFI_CUBIN_CONSTEXPR_14 reverse_iterator& operator--() { return *this -= 1; }
  TVMFFI_CUBIN_CONSTEXPR_14 reverse_iterator operator++(int) {
    const reverse_iterator old = *this;
    ++*this;
    return old;
  }
  TVMFFI_CUBIN_CONSTEXPR_14 reverse_iterator operator--(int) {
    const reverse_iterator old = *this;
    --*this;
    return old;
  }

 protected:
  Iterator current;
};

#define TVMFFI_CUBIN_COMPARED(OPERATOR, REVERSED)                                                \
  template <class A, class B>                                                                    \
  constexpr bool operator OPERATOR(const reverse_iterator<A>& a, const reverse_iterator<B>& b) { \
    return a.base() REVERSED b.base();                                                           \
  }
TVMFFI_CUBIN_COMPARED(==, ==)
TVMFFI_CUBIN_COMPARED(!=, !=)
TVMFFI_CUBIN_COMPARED(<, >)
TVMFFI_CUBIN_COMPARED(<=, >=)
TVMFFI_CUBIN_COMPARED(>, <)
TVMFFI_CUBIN_COMPARED(>=, <=)
#undef TVMFFI_CUBIN_COMPARED

template <class A, class B>
constexpr ptrdiff_t operator-(const reverse_iterator<A>& a, const reverse_iterator<B>& b) {
  return b.base() - a.base();
}
template <class A>
constexpr reverse_iterator<A> operator+(ptrdiff_t n, const reverse_iterator<A>& a) {
  return a + n;
}

}  // namespace std

#endif  // TVMFFI_CUBIN_NVRTC_REVERSE_ITERATOR_H_
