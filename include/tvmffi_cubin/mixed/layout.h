// How a type is laid out, in one number: both sides of a mixed source compare theirs.
#pragma once

namespace tvmffi_cubin_layout {

using Word = unsigned long long;  // NOLINT

// Size and alignment of an object type that is complete; else 0.
template <typename T, typename = void>
struct Object {
  static constexpr Word kWord = 0;
};
template <typename T>
struct Object<T, decltype(void(sizeof(T[1])))> {
  static constexpr Word kWord = static_cast<Word>(sizeof(T)) << 8 | alignof(T);
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

// 24 bits of what a value is, 40 of what it points at or is an array of.
// Sizes of parameters are below the prime number, which has those of variables fit as well.
template <typename T>
inline constexpr Word kOf = (Object<T>::kWord >> 8) % 65521 << 48 |
                            (Object<T>::kWord & 0xff) << 40 |
                            (Innermost<T>::kWord & 0xffffffffffull);

// Whether two are the same, where both sides know what is pointed at.
constexpr bool AreSame(Word device, Word host) {
  constexpr Word kPointee = 0xffffffffffull;
  if (device >> 40 != host >> 40) return false;
  return (device & kPointee) == (host & kPointee) || (device & kPointee) == 0 ||
         (host & kPointee) == 0;
}

// Whether a kernel's first parameters are as the host has them.
template <typename Function>
struct Kernel;
template <typename... Params>
struct Kernel<void (*)(Params...)> {
  static constexpr bool IsAs(int index, Word host) {
    constexpr Word kDevice[] = {kOf<Params>..., 0};
    return AreSame(kDevice[index], host);
  }
};

}  // namespace tvmffi_cubin_layout
