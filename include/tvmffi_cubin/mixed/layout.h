// The layouts of types, which both sides of a mixed source compare. Also namespaces whose headers
// either side may lack.
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
constexpr _Word _own = 0;
template <typename _Tp>
constexpr _Word _own<_Tp, decltype(void(sizeof(_Tp)))> = sizeof(_Tp) << 8 | alignof(_Tp);

// The same for the type that nested pointers and arrays end in.
template <typename _Tp>
constexpr _Word _inner = _own<_Tp>;
template <typename _Tp>
constexpr _Word _inner<_Tp*> = _inner<_Tp>;
template <typename _Tp>
constexpr _Word _inner<_Tp* const> = _inner<_Tp>;
template <typename _Tp, decltype(sizeof(0)) __count>
constexpr _Word _inner<_Tp[__count]> = _inner<_Tp>;

// Both, for a kernel's parameters or for what is at an address.
template <_Word...>
struct _Words;
template <typename... _Params>
_Words<_own<_Params>..., _inner<_Params>...> _Layouts(void (*)(_Params...));
template <typename _Tp>
_Words<_own<_Tp>, _inner<_Tp>> _Layouts(_Tp*);

// Each side has an instance, whose symbol encodes them.
template <int __number, typename>
__device__ char __told;

}  // namespace tvmffi_cubin_layout
