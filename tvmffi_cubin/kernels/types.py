"""C++ types of kernel parameters as text: kind, size, alignment, and the dtypes of pointers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from .demangle import split_list

Dtype = tuple[int, int]
"""A DLPack type: code and bits."""


class Pointee(NamedTuple):
    """What a pointer points to, spelled as in ``"const float"``."""

    text: str
    dtypes: tuple[Dtype, ...] = ()  # of the tensors that may be passed; empty: any
    align: int = 1  # in bytes; 1 where it is unknown


class CxxType(NamedTuple):
    """A C++ type of a kernel parameter, spelled one way however it is written.

    Its kind is ``"pointer"``, ``"int"``, ``"uint"``, ``"float"``, ``"bool"``, ``"struct"`` or
    ``"raw"``. A name that is not known is a ``"struct"``: passed by value, as bytes (it may be an
    enumeration). Of what is raw the size is known alone.
    """

    text: str  # const first, no top-level qualifiers, no __restrict__
    kind: str
    size: int | None  # in bytes; None where it is unknown
    scalar: str | None = None  # of a float: "float16", "bfloat16", "float32" or "float64"
    pointee: Pointee | None = None


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
    *("signed", "unsigned", "__signed__", "char", "short", "int", "long", "__int128"),
    *("float", "double", "bool", "void"),
}
_IGNORED = {
    *("__restrict__", "__restrict", "restrict", "__grid_constant__", "typename", "constexpr"),
    *("struct", "class", "enum", "union", "register"),
}


def _declaration(text: str) -> tuple[CxxType, str]:
    """Parse one declaration; return its type and its name, "" where it has none."""
    words: list[str] = []
    qualifiers: set[str] = set()
    pointers: list[set[str]] = []  # the qualifiers of each, from the inside out
    name, extents, compound = "", 0, False
    for part in _parts(text.replace("(anonymous namespace)::", "")):
        if "&" in (part, part.strip("( ")[:1]):
            raise ValueError(
                f"in {text!r}: a __global__ function takes no references: pass a pointer or a value"
            )
        if part in ("const", "volatile"):
            (pointers[-1] if pointers else qualifiers).add(part)
        elif part == "*":
            pointers.append(set())
        elif part in _BUILTIN and not pointers and _BUILTIN.issuperset(words):
            words.append(part)
        elif part[0] == "(" and part[1:].lstrip().startswith("*") and not name:
            # A pointer to an array or a function, whose extents or parameters follow.
            name, compound = part.strip("()* "), True
        elif part[0] == "[" or (part[0] == "(" and compound):
            extents += not compound
        elif re.match(r"[\w$:]", part) and not words and not pointers:
            words.append(part)
        elif re.fullmatch(r"[^\W\d][\w$]*", part) and words and not (name or compound or extents):
            name = part
        else:
            remedy = "; give a default value in Launch(args=...) instead" if part == "=" else ""
            raise ValueError(f"in {text!r}: unexpected {part!r}{remedy}")
    if not words or words[0].endswith("::"):
        raise ValueError(f"in {text!r}: expected a type such as 'const float*' or 'int64_t'")
    base = _builtin_name(words) if words[0] in _BUILTIN else words[0]
    if extents:
        # An array parameter is a pointer to its element.
        pointers.append(set())
        compound = extents > 1
    if base == "void" and not pointers and not compound:
        raise ValueError(f"in {text!r}: a parameter cannot be void")
    return _made(base, sorted(qualifiers), pointers, compound), name


def _parts(text: str) -> Iterator[str]:
    """Yield the words and signs of a declaration, and brackets as one with what is in them.

    A qualified name with its template arguments is a word, spaced the same however it is written.
    """
    closing = {"(": ")", "[": "]", "<": ">", "{": "}"}
    part, stack = "", [""]
    for token in re.findall(r"[\w$]+|::|\S", text):
        if not stack[1:] and token not in ("<", "::") and not part.endswith("::"):
            if part and part not in _IGNORED:
                yield part
            part = ""
        spaced = token == "," or (re.search(r"[\w$]\Z", part) and re.match(r"[\w$]", token))
        part += (", " if token == "," else f" {token}") if spaced else token
        if token == stack[-1]:
            stack.pop()
        elif token in closing and (token != "<" or stack[-1] in ("", ">")):
            stack.append(closing[token])
    if stack[1:]:
        raise ValueError(f"in {text!r}: a bracket is not closed")
    if part and part not in _IGNORED:
        yield part


def _builtin_name(words: list[str]) -> str:
    unsigned = "unsigned " if "unsigned" in words else ""
    for word in ("float", "bool", "void"):
        if word in words:
            return word
    if "double" in words:
        return "long double" if "long" in words else "double"
    if "char" in words:
        return "signed char" if {"signed", "__signed__"} & set(words) else unsigned + "char"
    for word in ("short", "__int128"):
        if word in words:
            return unsigned + word
    return unsigned + (" ".join(["long"] * words.count("long")) or "int")


def _made(base: str, qualifiers: list[str], pointers: list[set[str]], compound: bool) -> CxxType:
    # The std namespaces, inline ones among them, are looked through.
    plain = re.sub(r"^(?:::)?(?:(?:cuda::)?std::(?:__\w+::)?)?", "", base)
    value, pointee = _known_types().get(plain, (CxxType("", "struct", None), Pointee("")))
    if not pointers and not compound:
        if base in ("CUstream", "cudaStream_t"):
            # What host code passes on, for `Launch(stream=...)`.
            return CxxType(base, "pointer", 8, pointee=Pointee("CUstream_st"))
        return value._replace(text=base)
    text = " ".join([*qualifiers, base])
    if compound:
        return CxxType(f"{text} (*)[]", "pointer", 8, pointee=Pointee(f"{text}[]"))
    for inner in pointers[:-1]:
        text += " ".join(["*", *sorted(inner)])
        pointee = Pointee("", (), 8)
    return CxxType(f"{text}*", "pointer", 8, pointee=pointee._replace(text=text))


# DLPack's type codes.
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6

_SIGNED = {
    1: "signed char|int8_t",
    2: "short|int16_t",
    4: "int|int32_t",
    8: "long|long long|int64_t|ptrdiff_t|ssize_t|intptr_t",
}
_UNSIGNED = {
    1: "unsigned char|uint8_t|uchar|byte",
    2: "unsigned short|uint16_t|ushort",
    4: "unsigned int|uint32_t|uint",
    # CUDA's own handles for textures and surfaces are 64-bit integers.
    8: "unsigned long|unsigned long long|uint64_t|size_t|uintptr_t|ulong"
    "|cudaTextureObject_t|cudaSurfaceObject_t",
}
# Few frameworks have 6- and 4-bit dtypes, so their users keep such data in uint8 tensors.
_NARROW: dict[str, tuple[Dtype, ...]] = {
    "fp8{}_e4m3": ((10, 8),),
    "fp8{}_e5m2": ((12, 8),),
    "fp8{}_e8m0": ((14, 8),),
    "fp6{}_e2m3": ((15, 6), (_UINT, 8)),
    "fp6{}_e3m2": ((16, 6), (_UINT, 8)),
    "fp4{}_e2m1": ((17, 4), (_UINT, 8)),
}


@cache
def _known_types() -> dict[str, tuple[CxxType, Pointee]]:
    """Return what type names stand for: as a value, and behind a pointer; without their texts."""
    table: dict[str, tuple[CxxType, Pointee]] = {}

    def add(
        names: str, kind: str, size: int, *dtypes: Dtype, scalar: str = "", align: int = 0
    ) -> None:
        value = CxxType("", kind, size, scalar or None)
        table.update(dict.fromkeys(names.split("|"), (value, Pointee("", dtypes, align or size))))

    for size in (1, 2, 4, 8):
        add(_SIGNED[size], "int", size, (_INT, 8 * size))
        add(_UNSIGNED[size], "uint", size, (_UINT, 8 * size))
    # Plain char is bytes: numpy and torch have both spellings and users mean neither sign.
    add("char", "int", 1, (_INT, 8), (_UINT, 8))
    # Only bool tensors for bool*: any other byte than 0 and 1 is undefined behaviour.
    add("bool", "bool", 1, (_BOOL, 8))
    half, bfloat = (_FLOAT, 16), (_BFLOAT, 16)
    add("float", "float", 4, (_FLOAT, 32), scalar="float32")
    add("double", "float", 8, (_FLOAT, 64), scalar="float64")
    add("__half|half|_Float16|cutlass::half_t", "float", 2, half, scalar="float16")
    names = "__nv_bfloat16|nv_bfloat16|__bf16|cutlass::bfloat16_t"
    add(names, "float", 2, bfloat, scalar="bfloat16")
    add("__half2|half2", "struct", 4, half)
    add("__nv_bfloat162|nv_bfloat162", "struct", 4, bfloat)
    add("cutlass::tfloat32_t", "struct", 4, (_FLOAT, 32))
    add("__int128|unsigned __int128", "struct", 16)
    add("dim3", "struct", 12, align=4)
    add("CUtensorMap|CUtensorMap_st", "struct", 128, align=64)
    for name, dtypes in _NARROW.items():
        for lanes in (1, 2, 4):
            size = max(1, lanes // 2) if name.startswith("fp4") else lanes
            add("__nv_" + name.format("" if lanes == 1 else f"x{lanes}"), "struct", size, *dtypes)
    table["cutlass::float_e4m3_t"] = table["__nv_fp8_e4m3"]
    table["cutlass::float_e5m2_t"] = table["__nv_fp8_e5m2"]
    vectors = "char uchar short ushort int uint long ulong longlong ulonglong float double"
    same = {"char": "signed char", "longlong": "long", "ulonglong": "ulong"}
    for name in vectors.split():
        _, scalar = table[same.get(name, name)]
        for lanes in (1, 2, 3, 4):
            size = scalar.align * lanes
            align = scalar.align if lanes == 3 else min(size, 16)
            add(f"{name}{lanes}", "struct", size, *scalar.dtypes, align=align)
        for align in (16, 32) if scalar.align == 8 else ():
            add(f"{name}4_{align}a", "struct", 32, *scalar.dtypes, align=align)
    complexes = (("float", "cuComplex|cuFloatComplex", 32), ("double", "cuDoubleComplex", 64))
    for name, real, bits in complexes:
        complex_ = (_COMPLEX, 2 * bits)
        add(f"{name}2|{real}", "struct", bits // 4, (_FLOAT, bits), complex_)
        add(f"complex<{name}>|thrust::complex<{name}>", "struct", bits // 4, complex_)
    return table
