// How a type is laid out, in one number: both sides of a mixed source compare theirs.
#pragma once

namespace tvmffi_cubin_layout {

using Word = unsigned long long;  // NOLINT

// Size and alignment of an object type that is complete; else 0.
template <typename T, typename = void>
struct Object {
  enum : Word { kWord };
};
template <typename T>
struct Object<T, decltype(void(sizeof(T[1])))> {
  enum : Word { kWord = static_cast<Word>(sizeof(T)) << 8 | alignof(T) };
};

// The same of what pointers and arrays lead to in the end.
template <typename T>
struct Innermost : Object<T> {};
template <typename T>
struct Innermost<T*> : Innermost<T> {};
template <typename T>
struct Innermost<T* const> : Innermost<T> {};
template <typename T, decltype(sizeof(0)) kCount>
struct Innermost<T[kCount]> : Innermost<T> {};

// 24 bits of what a value is, 40 of what it points at or is an array of, 0 where that is not known.
// Sizes of parameters are below the prime number, which has those of variables fit as well.
template <typename T>
constexpr Word Of() {
  constexpr Word kOwn = Object<T>::kWord;
  return (kOwn >> 8) % 65521 << 48 | (kOwn & 0xff) << 40 | (Innermost<T>::kWord & 0xffffffffffull);
}

}  // namespace tvmffi_cubin_layout
