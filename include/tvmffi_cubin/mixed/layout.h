// The layout of a type as one number, which both sides of a mixed source compare. Also namespaces
// whose headers either side may lack.
#pragma once

namespace std {}
namespace cub {}
namespace thrust {}
namespace cooperative_groups {}
namespace nvcuda::wmma {}

namespace tvmffi_cubin_layout {

using _Word = unsigned long long;  // NOLINT

// Size and alignment of a complete object type, else 0.
template <typename _Tp, typename = void>
struct _Object {
  enum : _Word { __word };
};
template <typename _Tp>
struct _Object<_Tp, decltype(void(sizeof(_Tp)))> {
  enum : _Word { __word = static_cast<_Word>(sizeof(_Tp)) << 8 | alignof(_Tp) };
};

// The same for the type that nested pointers and arrays end in.
template <typename _Tp>
struct _Innermost : _Object<_Tp> {};
template <typename _Tp>
struct _Innermost<_Tp*> : _Innermost<_Tp> {};
template <typename _Tp>
struct _Innermost<_Tp* const> : _Innermost<_Tp> {};
template <typename _Tp, decltype(sizeof(0)) __count>
struct _Innermost<_Tp[__count]> : _Innermost<_Tp> {};

// 24 bits for the value's type, 40 for what it points to or is an array of, 0 if unknown. Sizes of
// parameters are below the prime, which makes sizes of variables fit as well.
template <typename _Tp>
constexpr _Word _Of() {
  constexpr _Word __own = _Object<_Tp>::__word;
  return (__own >> 8) % 65521 << 48 | (__own & 0xff) << 40 |
         (_Innermost<_Tp>::__word & 0xffffffffffull);
}

// The symbol of an instance of `__told`, which either side has, encodes the layouts of a kernel's
// parameters, or of what is at an address.
template <_Word...>
struct _Words;
template <typename... _Params>
_Words<_Of<_Params>()...> _Layouts(void (*)(_Params...));
template <typename _Tp>
_Words<_Of<_Tp>()> _Layouts(_Tp*);

}  // namespace tvmffi_cubin_layout
