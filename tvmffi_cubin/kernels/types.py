"""C++ types of kernel parameters as text: kind, size, alignment, and the dtypes of pointers."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from .demangle import split_list


class CxxType(NamedTuple):
    """A C++ type of a kernel parameter, in one canonical spelling.

    Its kind is ``"pointer"``, ``"int"``, ``"uint"``, ``"float"``, ``"bfloat"``, ``"bool"``,
    ``"struct"`` or ``"raw"``. An unknown name is a ``"struct"``: passed by value, as bytes (it may
    be an enumeration). Of a ``"raw"`` type, only the size is known.
    """

    text: str  # const first, no top-level qualifiers, no __restrict__
    kind: str
    size: int | None  # in bytes; None if unknown
    dtypes: tuple[tuple[int, int], ...] = ()  # of a pointer's tensors, as in DLPack; empty: any
    align: int = 1  # of a pointer's tensors, in bytes


class Param(NamedTuple):
    """A named, typed parameter; `ndim` is the rank that its tensor must have, None for any."""

    name: str
    type: CxxType
    ndim: int | None = None


def parse_type(text: str) -> CxxType:
    """Parse a type without a name, such as ``"float const* __restrict__"``."""
    return _declaration(text)[0]


@lru_cache(maxsize=1024)
def parse_params(text: str) -> tuple[Param, ...]:
    """Parse a declared parameter list, such as ``"const float* x: ndim=2, int64_t n"``.

    Every parameter has a name; ``: ndim=N`` after it gives the rank of its tensor.
    """
    params = []
    for part in split_list("" if text.strip() == "void" else text):
        declared, *ndim = re.split(r":\s*ndim\s*=\s*(\d+)\s*\Z", part)
        type_, name = _declaration(declared)
        if not name:
            raise ValueError(f"in {part!r}: a declared parameter needs a name")
        params.append(Param(name, type_, int(ndim[0]) if ndim else None))
    return tuple(params)


# In the order of the usual spelling.
_BUILTIN = (
    *("signed", "unsigned", "long", "short", "char", "int", "__int128"),
    *("float", "double", "bool", "void"),
)
_IGNORED = {
    *("const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__"),
    *("typename", "struct", "class", "enum", "union"),
}


@lru_cache(maxsize=1024)
def _declaration(text: str) -> tuple[CxxType, str]:
    """Parse one declaration; return its type and its name, "" if it has none."""
    plain = " ".join(text.replace("(anonymous namespace)::", "").split())
    if match := re.search(r"\(\s*\*\s*(\w*)\s*\)\s*[\[(]", plain):  # to an array, or a function
        return CxxType("void*", "pointer", 8), match[1]
    if plain.endswith("]"):  # an array parameter is a pointer to its element
        plain = plain.partition("[")[0] + "*"
    # Normalize the spacing.
    plain = re.sub(r"\s*(::|<|\*|&)\s*|\s+(?=>)", lambda x: x[1] or "", plain)
    plain = re.sub(r"\s*,\s*", ", ", plain)
    head, *pointers = split_list(plain, "*") or [""]
    words = split_list(head, " ")
    const = "const " if "const" in words else ""
    words = [x for x in (*words, *" ".join(pointers).split()) if x and x not in _IGNORED]
    builtin = [x for x in words if x in _BUILTIN]
    others = [x for x in words if x not in _BUILTIN]
    base = _builtin_name(builtin) if builtin else "".join(others[:1])
    names = others if builtin else others[1:]
    is_plain = len(names) < 2 and all(map(str.isidentifier, names))
    if not is_plain or len(split_list(plain, "&")) > 1:
        raise ValueError(
            f"in {text!r}: declare parameters as in C++, 'float* x', without references or "
            "default values, optionally followed by ': ndim=2'"
        )
    return _type(base, const, len(pointers)), "".join(names)


def _builtin_name(words: list[str]) -> str:
    """Return the usual spelling of a built-in type: ``long unsigned int`` is ``unsigned long``."""
    silent = {"int"} if "char" in words else {"int", "signed"}
    name = " ".join(sorted((x for x in words if x not in silent), key=_BUILTIN.index))
    return f"{name} int".strip() if name in ("", "unsigned") else name


def _type(base: str, const: str, stars: int) -> CxxType:
    # Ignore the std namespaces, including inline ones.
    name = re.sub(r"^(?:::)?(?:(?:cuda::)?std::(?:__\w+::)?)?", "", base)
    known = _known_types().get(name, CxxType(base, "struct", None))
    if not stars:
        return CxxType(base, known.kind, known.size)
    dtypes, align = (known.dtypes, known.align) if stars == 1 else ((), 8)
    return CxxType(f"{const}{base}{'*' * stars}", "pointer", 8, dtypes, align)


# DLPack's type codes.
_CODES = {
    "int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5, "bool": 6,
    "e4m3_": 10, "e5m2_": 12, "e8m0_": 14, "e2m1_": 17,
}  # fmt: skip

# Kind, bytes, and the dtypes of tensors behind a pointer. Plain char stands for bytes: NumPy and
# torch have both int8 and uint8, and users mean neither sign. Streams are what `Launch(stream=...)`
# takes. Few frameworks have 4-bit dtypes, so their users keep such data in uint8 tensors.
_TYPES = """
int 1 int8: signed char, int8_t
int 1 int8 uint8: char
int 2 int16: short, int16_t
int 4 int32: int, int32_t
int 8 int64: long, long long, int64_t, ptrdiff_t, ssize_t, intptr_t, longlong
uint 1 uint8: unsigned char, uint8_t, uchar, byte
uint 2 uint16: unsigned short, uint16_t, ushort
uint 4 uint32: unsigned int, uint32_t, uint
uint 8 uint64: unsigned long, unsigned long long, uint64_t, size_t, uintptr_t, ulong, ulonglong
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
struct 1 e4m3_8: __nv_fp8_e4m3, cutlass::float_e4m3_t
struct 1 e5m2_8: __nv_fp8_e5m2, cutlass::float_e5m2_t
struct 1 e8m0_8: __nv_fp8_e8m0
struct 1 e2m1_4 uint8: __nv_fp4_e2m1, __nv_fp4x2_e2m1
struct 2 e2m1_4 uint8: __nv_fp4x4_e2m1
struct 128: CUtensorMap, CUtensorMap_st
"""
_VECTORS = "char uchar short ushort int uint long ulong longlong ulonglong float double"


@cache
def _known_types() -> dict[str, CxxType]:
    table: dict[str, CxxType] = {}
    for row in _TYPES.strip().splitlines():
        facts, _, names = row.partition(": ")
        kind, number, *_ = facts.split()
        found = re.findall(r"([a-z]\w*?)(\d+)\b", facts)
        dtypes = tuple((_CODES[name], int(bits)) for name, bits in found)
        for name in names.split(", "):
            table[name] = CxxType(name, kind, int(number), dtypes, min(int(number), 64))
    for name, one in [*table.items()]:
        for lanes in (2, 4) if name.startswith("__nv_fp8") else ():
            several = f"{name[:8]}x{lanes}{name[8:]}"
            table[several] = CxxType(several, "struct", lanes, one.dtypes, lanes)
    for vector in _VECTORS.split():
        element = table["signed char" if vector == "char" else vector]
        for lanes in (1, 2, 3, 4):
            size = element.align * lanes
            align = element.align if lanes == 3 else min(size, 16)
            name = f"{vector}{lanes}"
            table.setdefault(name, CxxType(name, "struct", size, element.dtypes, align))
    return table
