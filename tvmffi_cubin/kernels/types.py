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
            raise ValueError(f"in {part!r}: expected 'ndim=' and a number after ':'")
        type_, name = _declaration(declared)
        if not name:
            raise ValueError(f"in {part!r}: a declared parameter needs a name")
        if name in params:
            raise ValueError(f"parameter {name!r} is declared twice")
        params[name] = Param(name, type_, int(ndim[1]) if ndim else None)
    return tuple(params.values())


_BUILTIN = {
    *("signed", "unsigned", "char", "short", "int", "long", "__int128"),
    *("float", "double", "bool", "void"),
}
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
    others = [x for x in words if x not in _BUILTIN | _QUALIFIERS]
    base = _builtin_name(builtin) if builtin else "".join(others[:1])
    rest = others if builtin else others[1:]
    rest += [x for part in pointers for x in part.split() if x not in _QUALIFIERS | _IGNORED]
    if len(split_list(plain, "&")) > 1:
        problem = "a __global__ function takes no references: pass a pointer or a value"
    elif not base:
        problem = "expected a type such as 'const float*' or 'int64_t'"
    elif "=" in rest:
        problem = "a parameter takes no default value: give it in Launch(args=...)"
    elif len(rest) > 1 or (rest and not rest[0].isidentifier()):
        problem = f"unexpected {rest[-1]!r}"
    elif base == "void" and not pointers:
        problem = "a parameter cannot be void"
    else:
        type_ = _type(base, _qualifiers(words), pointers)
        return _to_array(type_) if "[" in extents else type_, "".join(rest)
    raise ValueError(f"in {text!r}: {problem}")


def _qualifiers(words: list[str]) -> list[str]:
    return sorted(_QUALIFIERS.intersection(words))


def _builtin_name(words: list[str]) -> str:
    """Return the usual spelling of a built-in type: ``long unsigned int`` is ``unsigned long``."""
    for word in ("float", "bool", "void"):
        if word in words:
            return word
    longs = ["long"] * words.count("long")
    if "double" in words:
        return " ".join([*longs, "double"])
    sign = "unsigned" if "unsigned" in words else "signed"
    size = next((x for x in ("char", "short", "__int128") if x in words), " ".join(longs) or "int")
    is_said = sign == "unsigned" or (size == "char" and "signed" in words)
    return f"{sign} {size}" if is_said else size


def _type(base: str, qualifiers: list[str], pointers: list[str]) -> CxxType:
    # The std namespaces, inline ones among them, are looked through.
    name = re.sub(r"^(?:::)?(?:(?:cuda::)?std::(?:__\w+::)?)?", "", base)
    value, dtypes, align = _known_types().get(name, (CxxType("", "struct", None), (), 1))
    if not pointers:
        return value._replace(text=base)
    text = " ".join([*qualifiers, base])
    for inner in pointers[:-1]:
        text += " ".join(["*", *_qualifiers(inner.split())])
        dtypes, align = (), 8
    return CxxType(f"{text}*", "pointer", 8, dtypes, align)


def _to_array(type_: CxxType) -> CxxType:
    """Return a pointer to arrays, or to a function; it takes any address."""
    return CxxType(f"{type_.text.removesuffix('*')} (*)[]", "pointer", 8)


# DLPack's type codes.
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6

_SCALARS: tuple[tuple[str, Dtype, str], ...] = (
    ("int", (_INT, 8), "signed char|int8_t"),
    ("int", (_INT, 16), "short|int16_t"),
    ("int", (_INT, 32), "int|int32_t"),
    ("int", (_INT, 64), "long|long long|int64_t|ptrdiff_t|ssize_t|intptr_t"),
    ("uint", (_UINT, 8), "unsigned char|uint8_t|uchar|byte"),
    ("uint", (_UINT, 16), "unsigned short|uint16_t|ushort"),
    ("uint", (_UINT, 32), "unsigned int|uint32_t|uint"),
    ("uint", (_UINT, 64), "unsigned long|unsigned long long|uint64_t|size_t|uintptr_t|ulong"),
    ("uint", (_UINT, 64), "cudaTextureObject_t|cudaSurfaceObject_t"),  # handles
    # Only bool tensors for bool*: any other byte than 0 and 1 is undefined behaviour.
    ("bool", (_BOOL, 8), "bool"),
    ("float", (_FLOAT, 16), "__half|half|_Float16|cutlass::half_t"),
    ("bfloat", (_BFLOAT, 16), "__nv_bfloat16|nv_bfloat16|__bf16|cutlass::bfloat16_t"),
    ("float", (_FLOAT, 32), "float"),
    ("float", (_FLOAT, 64), "double"),
)
# Few frameworks have 6- and 4-bit dtypes, so their users keep such data in uint8 tensors.
_NARROW: tuple[tuple[str, tuple[Dtype, ...]], ...] = (
    ("fp8{}_e4m3", ((10, 8),)),
    ("fp8{}_e5m2", ((12, 8),)),
    ("fp8{}_e8m0", ((14, 8),)),
    ("fp6{}_e2m3", ((15, 6), (_UINT, 8))),
    ("fp6{}_e3m2", ((16, 6), (_UINT, 8))),
    ("fp4{}_e2m1", ((17, 4), (_UINT, 8))),
)
_VECTORS = "char uchar short ushort int uint long ulong longlong ulonglong float double"
# Names, size, alignment of tensors behind a pointer, and their dtypes.
_STRUCTS: tuple[tuple[str, int, int, tuple[Dtype, ...]], ...] = (
    ("cutlass::float_e4m3_t", 1, 1, ((10, 8),)),
    ("cutlass::float_e5m2_t", 1, 1, ((12, 8),)),
    ("cutlass::tfloat32_t", 4, 4, ((_FLOAT, 32),)),
    ("__half2|half2", 4, 4, ((_FLOAT, 16),)),
    ("__nv_bfloat162|nv_bfloat162", 4, 4, ((_BFLOAT, 16),)),
    ("float2|cuComplex|cuFloatComplex", 8, 8, ((_FLOAT, 32), (_COMPLEX, 64))),
    ("double2|cuDoubleComplex", 16, 16, ((_FLOAT, 64), (_COMPLEX, 128))),
    ("complex<float>|thrust::complex<float>", 8, 8, ((_COMPLEX, 64),)),
    ("complex<double>|thrust::complex<double>", 16, 16, ((_COMPLEX, 128),)),
    ("__int128|unsigned __int128", 16, 16, ()),
    ("dim3", 12, 4, ()),
    ("CUtensorMap|CUtensorMap_st", 128, 64, ()),
)


@cache
def _known_types() -> dict[str, tuple[CxxType, tuple[Dtype, ...], int]]:
    """Return values of types by name, without their texts; dtypes and alignment behind pointers."""
    table: dict[str, tuple[CxxType, tuple[Dtype, ...], int]] = {}

    def add(
        names: str, size: int, align: int, dtypes: tuple[Dtype, ...], kind: str = "struct"
    ) -> None:
        row = (CxxType("", kind, size), dtypes, align)
        table.update(dict.fromkeys(names.split("|"), row))

    for kind, dtype, names in _SCALARS:
        size = dtype[1] // 8
        add(names, size, size, (dtype,), kind)
    for name, dtypes in _NARROW:
        for lanes in (1, 2, 4):
            size = max(1, lanes // 2) if name.startswith("fp4") else lanes
            add("__nv_" + name.format("" if lanes == 1 else f"x{lanes}"), size, size, dtypes)
    same = {"char": "signed char", "longlong": "long", "ulonglong": "ulong"}
    for vector in _VECTORS.split():
        _, dtypes, unit = table[same.get(vector, vector)]
        for lanes in (1, 2, 3, 4):
            align = unit if lanes == 3 else min(unit * lanes, 16)
            add(f"{vector}{lanes}", unit * lanes, align, dtypes)
        for align in (16, 32) if unit == 8 else ():
            add(f"{vector}4_{align}a", 32, align, dtypes)
    for row in _STRUCTS:
        add(*row)
    # Plain char is bytes: numpy and torch have both spellings and users mean neither sign.
    add("char", 1, 1, ((_INT, 8), (_UINT, 8)), "int")
    # What host code passes on, for `Launch(stream=...)`.
    add("CUstream|cudaStream_t", 8, 8, (), "pointer")
    return table
