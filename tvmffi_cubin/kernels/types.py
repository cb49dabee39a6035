"""C++ types of kernel parameters as text: kind, size, alignment, and the dtypes of pointers."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from .demangle import split_list

Dtype = tuple[int, int]
"""A DLPack type: code and bits."""


class CxxType(NamedTuple):
    """A C++ type of a kernel parameter, spelled one way however it is written.

    Its kind is ``"pointer"``, ``"int"``, ``"uint"``, ``"float"``, ``"bfloat"``, ``"bool"``,
    ``"struct"`` or ``"raw"``. A name that is not known is a ``"struct"``: passed by value, as bytes
    (it may be an enumeration). Of what is raw the size is known alone.
    """

    text: str  # const first, no top-level qualifiers, no __restrict__
    kind: str
    size: int | None  # in bytes; None where it is unknown
    # Of the tensors that may be passed for a pointer: their dtypes, empty for any, and in bytes how
    # they are aligned.
    dtypes: tuple[Dtype, ...] = ()
    align: int = 1


class Param(NamedTuple):
    """A named, typed parameter; `ndim` is the rank that its tensor must have, None: any."""

    name: str
    type: CxxType
    ndim: int | None = None


def sized_type(size: int) -> CxxType:
    """Return the type of a parameter of which an image says the size and nobody the type."""
    return CxxType(f"{size} byte{'' if size == 1 else 's'}", "raw", size)


def parse_type(text: str) -> CxxType:
    """Parse a type without a name, such as ``"float const* __restrict__"``.

    A ValueError says why it is none that a kernel can take.
    """
    type_, name = _declaration(text)
    if name:
        raise ValueError(f"in {text!r}: unexpected {name!r} after the type")
    return type_


@lru_cache(maxsize=1024)
def parse_params(text: str) -> tuple[Param, ...]:
    """Parse a declared parameter list, such as ``"const float* x: ndim=2, int64_t n"``.

    Every parameter has a name; ``: ndim=N`` after it gives the rank of its tensor. Default values
    are a ValueError, as all else is (what is not passed at the call belongs in
    ``Launch(args=...)``).
    """
    params: dict[str, Param] = {}
    for part in split_list("" if text.strip() == "void" else text):
        declared, *rank = re.split(r"(?<!:):(?!:)", part, maxsplit=1)
        ndim = re.fullmatch(r"\s*ndim\s*=\s*(\d+)\s*", rank[0]) if rank else None
        if rank and ndim is None:
            raise ValueError(
                f"in {part!r}: declare parameters as in C++, 'float* x', optionally followed by "
                "': ndim=2'"
            )
        type_, name = _declaration(declared)
        if not name:
            raise ValueError(f"in {part!r}: a declared parameter needs a name")
        if name in params:
            raise ValueError(f"parameter {name!r} is declared twice")
        params[name] = Param(name, type_, int(ndim[1]) if ndim else None)
    return tuple(params.values())


# In the order of the usual spelling.
_BUILTIN = (
    *("signed", "unsigned", "long", "short", "char", "int", "__int128"),
    *("float", "double", "bool", "void"),
)
_QUALIFIERS = {"const", "volatile"}
_IGNORED = {
    *("__restrict__", "__restrict", "restrict", "__grid_constant__"),
    *("typename", "struct", "class", "enum", "union"),
}


@lru_cache(maxsize=1024)
def _declaration(text: str) -> tuple[CxxType, str]:
    """Parse one declaration; return its type and its name, "" where it has none."""
    plain = " ".join(text.replace("(anonymous namespace)::", "").split())
    match = re.search(r"\(\s*\*\s*(\w*)\s*\)\s*[\[(]", plain)
    if match:  # a pointer to an array or a function
        return _to_array(_declaration(plain[: match.start()] + "*")[0]), match[1]
    extents = ""
    if plain.endswith("]"):  # an array parameter is a pointer to its element
        plain, _, extents = plain.partition("[")
    # Spaced the same however it is written.
    plain = re.sub(r"\s*(::|<|\*|&)\s*|\s+(?=>)", lambda x: x[1] or "", plain)
    plain = re.sub(r"\s*,\s*", ", ", plain)
    head, *pointers = split_list(plain + "*" * bool(extents), "*") or [""]
    words = [x for x in split_list(head, " ") if x and x not in _IGNORED]
    builtin = [x for x in words if x in _BUILTIN]
    others = [x for x in words if x not in (*_BUILTIN, *_QUALIFIERS)]
    base = _builtin_name(builtin) if builtin else "".join(others[:1])
    rest = others if builtin else others[1:]
    rest += [x for part in pointers for x in part.split() if x not in _QUALIFIERS | _IGNORED]
    if len(split_list(plain, "&")) > 1:
        problem = "a __global__ function takes no references: pass a pointer or a value"
    elif "=" in rest:
        problem = "a parameter takes no default value: give it in Launch(args=...)"
    elif len(rest) > 1 or (rest and not rest[0].isidentifier()):
        problem = f"unexpected {rest[-1]!r}"
    else:
        type_ = _type(base, _qualifiers(words), pointers)
        return _to_array(type_) if "[" in extents else type_, "".join(rest)
    raise ValueError(f"in {text!r}: {problem}")


def _qualifiers(words: list[str]) -> list[str]:
    return sorted(_QUALIFIERS.intersection(words))


def _builtin_name(words: list[str]) -> str:
    """Return the usual spelling of a built-in type: ``long unsigned int`` is ``unsigned long``."""
    silent = {"int"} if "char" in words else {"int", "signed"}
    name = " ".join(sorted((x for x in words if x not in silent), key=_BUILTIN.index))
    return f"{name} int".strip() if name in ("", "unsigned") else name


def _type(base: str, qualifiers: list[str], pointers: list[str]) -> CxxType:
    # The std namespaces, inline ones among them, are looked through.
    name = re.sub(r"^(?:::)?(?:(?:cuda::)?std::(?:__\w+::)?)?", "", base)
    known = _known_types().get(name, CxxType(base, "struct", None))
    if not pointers:
        return CxxType(base, known.kind, known.size)
    dtypes, align = known.dtypes, known.align
    text = " ".join([*qualifiers, base])
    for inner in pointers[:-1]:
        text += " ".join(["*", *_qualifiers(inner.split())])
        dtypes, align = (), 8
    return CxxType(f"{text}*", "pointer", 8, dtypes, align)


def _to_array(type_: CxxType) -> CxxType:
    """Return a pointer to arrays, or to a function; it takes any address."""
    return CxxType(f"{type_.text.removesuffix('*')} (*)[]", "pointer", 8)


# DLPack's type codes.
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5, "bool": 6}

# Kind, bytes, and the dtypes of tensors behind a pointer. Plain char is bytes: numpy and torch have
# both spellings and users mean neither sign. Streams are what `Launch(stream=...)` takes.
_TYPES = """
int 1 int8: signed char, int8_t
int 1 int8 uint8: char
int 2 int16: short, int16_t
int 4 int32: int, int32_t
int 8 int64: long, long long, int64_t, ptrdiff_t, ssize_t, intptr_t
uint 1 uint8: unsigned char, uint8_t, uchar, byte
uint 2 uint16: unsigned short, uint16_t, ushort
uint 4 uint32: unsigned int, uint32_t, uint
uint 8 uint64: unsigned long, unsigned long long, uint64_t, size_t, uintptr_t, ulong
uint 8 uint64: cudaTextureObject_t, cudaSurfaceObject_t
bool 1 bool8: bool
float 2 float16: __half, half, _Float16, cutlass::half_t
float 4 float32: float
float 8 float64: double
bfloat 2 bfloat16: __nv_bfloat16, nv_bfloat16, __bf16, cutlass::bfloat16_t
pointer 8: CUstream, cudaStream_t
struct 4 float16: __half2, half2
struct 4 bfloat16: __nv_bfloat162, nv_bfloat162
struct 4 float32: cutlass::tfloat32_t
struct 8 float32 complex64: float2, cuComplex, cuFloatComplex
struct 8 complex64: complex<float>, thrust::complex<float>
struct 16 float64 complex128: double2, cuDoubleComplex
struct 16 complex128: complex<double>, thrust::complex<double>
struct 16: __int128, unsigned __int128
"""
# Few frameworks have 6- and 4-bit dtypes, so their users keep such data in uint8 tensors.
_NARROW: dict[str, tuple[Dtype, ...]] = {
    "fp8{}_e4m3": ((10, 8),),
    "fp8{}_e5m2": ((12, 8),),
    "fp8{}_e8m0": ((14, 8),),
    "fp6{}_e2m3": ((15, 6), (1, 8)),
    "fp6{}_e3m2": ((16, 6), (1, 8)),
    "fp4{}_e2m1": ((17, 4), (1, 8)),
}
_VECTORS = "char uchar short ushort int uint long ulong longlong ulonglong float double"


@cache
def _known_types() -> dict[str, CxxType]:
    """Return types by their names: a value's kind and size; alignment and dtypes of tensors."""
    table: dict[str, CxxType] = {}

    def add(name: str, kind: str, size: int, align: int, dtypes: tuple[Dtype, ...] = ()) -> None:
        table.setdefault(name, CxxType(name, kind, size, dtypes, align))

    for row in _TYPES.strip().splitlines():
        facts, _, names = row.partition(": ")
        kind, number, *named = facts.split()
        found = (re.fullmatch(r"([a-z]+)(\d+)", dtype) for dtype in named)
        dtypes = tuple((_CODES[match[1]], int(match[2])) for match in found if match)
        for name in names.split(", "):
            add(name, kind, int(number), int(number), dtypes)
    for name, dtypes in _NARROW.items():
        for lanes, suffix in ((1, ""), (2, "x2"), (4, "x4")):
            size = max(1, lanes // 2) if name.startswith("fp4") else lanes
            add(f"__nv_{name.format(suffix)}", "struct", size, size, dtypes)
    for name in ("e4m3", "e5m2"):
        add(f"cutlass::float_{name}_t", "struct", 1, 1, _NARROW[f"fp8{{}}_{name}"])
    same = {"char": "signed char", "longlong": "long", "ulonglong": "ulong"}
    for vector in _VECTORS.split():
        element = table[same.get(vector, vector)]
        unit, dtypes = element.align, element.dtypes
        for lanes in (1, 2, 3, 4):
            align = unit if lanes == 3 else min(unit * lanes, 16)
            add(f"{vector}{lanes}", "struct", unit * lanes, align, dtypes)
        for align in (16, 32) if unit == 8 else ():
            add(f"{vector}4_{align}a", "struct", 32, align, dtypes)
    add("dim3", "struct", 12, 4)
    for name in ("CUtensorMap", "CUtensorMap_st"):
        add(name, "struct", 128, 64)
    return table
