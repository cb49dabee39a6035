"""C++ types of kernel parameters as text: kind, size, alignment, and the dtypes of pointers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

Dtype = tuple[int, int]
"""A DLPack type: code and bits."""


@dataclass(frozen=True)
class Pointee:
    """What a pointer points to, spelled as in ``"const float"``."""

    text: str
    dtypes: tuple[Dtype, ...] = ()  # of the tensors that may be passed; empty: any
    align: int = 1  # in bytes; 1 where it is unknown


@dataclass(frozen=True)
class CxxType:
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


@dataclass(frozen=True)
class Param:
    """A named, typed parameter; `ndim` is the rank that its tensor must have, None: any."""

    name: str
    type: CxxType
    ndim: int | None = None


def sized_type(size: int) -> CxxType:
    """Return the type of a parameter of which an image says the size and nobody the type."""
    return CxxType(f"{size} byte{'' if size == 1 else 's'}", "raw", size)


def parse_type(text: str) -> CxxType:
    """Parse a type without a name, such as ``"float const* __restrict__"``.

    Where it is none that a kernel can take, the ValueError points at the character.
    """
    parser = _Parser(text)
    type_, name, name_at = parser.declaration()
    if name or parser.token:
        at = name_at if name else parser.index
        raise parser.error(f"unexpected {parser.tokens[at][0]!r} after the type", at)
    return type_


def parse_params(text: str) -> tuple[Param, ...]:
    """Parse a declared parameter list, such as ``"const float* x: ndim=2, int64_t n"``.

    Every parameter has a name; ``: ndim=N`` after it gives the rank of its tensor. Default values
    are an error (what is not passed at the call belongs in ``Launch(args=...)``). An error, a
    ValueError, points at the character.
    """
    if text.strip() in ("", "void"):
        return ()
    parser = _Parser(text)
    params: dict[str, Param] = {}
    while True:
        type_, name, name_at = parser.declaration()
        if not name:
            raise parser.error("a declared parameter needs a name", name_at)
        if name in params:
            raise parser.error(f"parameter {name!r} is declared twice", name_at)
        params[name] = Param(name, type_, parser.rank() if parser.accept(":") else None)
        if parser.token == "=":
            remedy = "give the value in Launch(args=...) instead"
            raise parser.error(f"a declared parameter takes no default value; {remedy}")
        if not parser.token:
            return tuple(params.values())
        if not parser.accept(","):
            raise parser.error(f"expected ',' or the end, not {parser.token!r}")


_NAME = r"(?:[^\W\d]|\$)[\w$]*"
_UNNAMED = r"\(anonymous namespace\)|\{lambda\([^{}]*\)#\d+\}|\{unnamed type#\d+\}"
_BUILTIN = {
    *("signed", "unsigned", "__signed__", "char", "short", "int", "long", "__int128"),
    *("float", "double", "bool", "void"),
}
_IGNORED = {
    *("__restrict__", "__restrict", "restrict", "__grid_constant__", "typename", "constexpr"),
    *("struct", "class", "enum", "union", "register"),
}


class _Parser:
    """A recursive-descent parser of declarations; its errors point at a token."""

    def __init__(self, text: str) -> None:
        self.text = text
        pattern = rf"({_UNNAMED}|{_NAME}|\d[\w.']*|::|\S)"
        tokens = [(match[1], match.start()) for match in re.finditer(pattern, text)]
        self.tokens = [(token, at) for token, at in tokens if token not in _IGNORED]
        self.tokens.append(("", len(text.rstrip())))
        self.index = 0
        self.name_at = 0

    @property
    def token(self) -> str:
        """The current token, empty at the end."""
        return self.tokens[self.index][0]

    def take(self) -> str:
        self.index += 1
        return self.tokens[self.index - 1][0]

    def accept(self, token: str) -> bool:
        """Consume the current token if it is this one."""
        found = self.token == token
        self.index += found
        return found

    def error(self, message: str, at: int | None = None) -> ValueError:
        """Return the error that points at a token, the current one by default."""
        position = self.tokens[self.index if at is None else at][1]
        line_start = self.text.rfind("\n", 0, position) + 1
        line = self.text[line_start:].split("\n", 1)[0]
        caret = " " * (position - line_start) + "^"
        return ValueError(f"{message}, at character {position + 1}:\n  {line}\n  {caret}")

    def declaration(self) -> tuple[CxxType, str, int]:
        """Parse one declaration; return type, name ("" where it has none), where that is."""
        start = self.index
        base, qualifiers = self._base()
        pointers, compound, name = self._declarator()
        if base == "void" and not pointers:
            raise self.error("a parameter cannot be void", start)
        type_ = _made(base, sorted(set(qualifiers)), pointers, compound)
        return type_, name, self.name_at if name else self.index

    def rank(self) -> int:
        if not self.accept("ndim") or not self.accept("="):
            raise self.error("expected 'ndim=' and a number after ':'")
        if not self.token.isdecimal():
            raise self.error("expected a number of dimensions")
        return int(self.take())

    def _qualifiers(self) -> list[str]:
        found = set()
        while self.token in ("const", "volatile"):
            found.add(self.take())
        return sorted(found)

    def _base(self) -> tuple[str, list[str]]:
        """Parse the type specifiers; return the type's name and its qualifiers."""
        qualifiers = self._qualifiers()
        start = self.index
        words: list[str] = []
        name = ""
        while True:
            if self.token in _BUILTIN and not name:
                words.append(self.take())
            elif not words and not name and (self.token == "::" or self._at_name()):
                name = self._qualified_name()
            else:
                break
            qualifiers += self._qualifiers()
        if not words and not name:
            raise self.error("expected a type such as 'const float*' or 'int64_t'", start)
        return name or _builtin_name(words), qualifiers

    def _at_name(self) -> bool:
        return re.fullmatch(f"{_NAME}|{_UNNAMED}", self.token) is not None

    def _qualified_name(self) -> str:
        start = self.index
        self.accept("::")
        while True:
            if not self._at_name():
                raise self.error("expected a name after '::'")
            self.index += 1
            if self.token == "<":
                self._skip_brackets()
            if not self.accept("::"):
                break
        text = ""
        for token, _ in self.tokens[start : self.index]:
            # Spaced the same however it is written.
            if re.search(r"[\w$]\Z", text) and re.match(_NAME, token):
                text += " "
            text += ", " if token == "," else token
        return text

    def _skip_brackets(self) -> None:
        """Skip from an opening bracket to behind the one that closes it."""
        pairs = {"(": ")", "[": "]", "<": ">"}
        start = self.index
        stack = [pairs[self.take()]]
        while stack:
            if not self.token:
                raise self.error(f"'{self.tokens[start][0]}' is not closed", start)
            token = self.take()
            if token == stack[-1]:
                stack.pop()
            elif token in "([" or (token == "<" and stack[-1] == ">"):
                stack.append(pairs[token])

    def _declarator(self) -> tuple[list[list[str]], bool, str]:
        """Parse what follows the specifiers.

        Returns the pointers' qualifiers from the inside out, whether the innermost pointee is an
        array or a function, and the declared name ("" where there is none).
        """
        pointers: list[list[str]] = []
        while self.token in ("*", "&"):
            if self.token == "&":
                message = "a __global__ function takes no references: pass a pointer or a value"
                raise self.error(message)
            self.index += 1
            pointers.append(self._qualifiers())
        compound = False
        name = ""
        if self.token == "(" and self.tokens[self.index + 1][0] in ("*", "&"):
            self.index += 1
            inner, _, name = self._declarator()
            if not self.accept(")"):
                raise self.error("expected ')'")
            pointers += inner
            compound = self.token in ("[", "(")
        elif re.fullmatch(_NAME, self.token):
            self.name_at = self.index
            name = self.take()
        extents = 0
        while self.token == "[" or (self.token == "(" and (compound or name)):
            if self.token == "(" and not compound:
                raise self.error("a function cannot be a parameter")
            extents += 1
            self._skip_brackets()
        if extents and not compound:
            # An array parameter is a pointer to its element.
            pointers.append([])
            compound = extents > 1
        return pointers, compound, name


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


def _made(base: str, qualifiers: list[str], pointers: list[list[str]], compound: bool) -> CxxType:
    known = lookup(base)
    if not pointers:
        if base in ("CUstream", "cudaStream_t"):
            # What host code passes on, for `Launch(stream=...)`.
            return CxxType(base, "pointer", 8, pointee=Pointee("CUstream_st"))
        if known is None:
            return CxxType(base, "struct", None)
        return CxxType(base, known.kind, known.size, known.scalar)
    text = " ".join([*qualifiers, base])
    if compound:
        return CxxType(f"{text} (*)[]", "pointer", 8, pointee=Pointee(f"{text}[]"))
    for inner in pointers[:-1]:
        text += " ".join(["*", *inner])
    if len(pointers) > 1:
        pointee = Pointee(text, (), 8)
    elif known is None:
        pointee = Pointee(text)
    else:
        pointee = Pointee(text, known.dtypes, known.align)
    return CxxType(f"{text}*", "pointer", 8, pointee=pointee)


class Known(NamedTuple):
    """What a type's name stands for: `dtypes` are those that a pointer to it accepts, any if none.

    `kind` and `scalar` are as in `CxxType`, `size` and `align` in bytes.
    """

    kind: str
    size: int
    align: int
    dtypes: tuple[Dtype, ...] = ()
    scalar: str | None = None


def lookup(name: str) -> Known | None:
    """Return what is known of a type name (without qualifiers), None where nothing is.

    ``std::``, ``cuda::std::`` and their inline namespaces are looked through.
    """
    plain = re.sub(r"^(?:::)?(?:cuda::std::|std::)(?:__\w+::)?", "", name)
    return _known_types().get(plain.removeprefix("::"))


# DLPack's type codes.
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6

_SIGNED = {
    1: "signed char|int8_t|int_least8_t|__int8_t",
    2: "short|int16_t|int_least16_t|__int16_t",
    4: "int|wchar_t|int32_t|int_least32_t|__int32_t",
    8: "long|long long|int64_t|int_least64_t|__int64_t|ptrdiff_t|ssize_t|intptr_t|intmax_t"
    "|int_fast32_t|int_fast64_t",
}
_UNSIGNED = {
    1: "unsigned char|uint8_t|uchar|char8_t|byte",
    2: "unsigned short|uint16_t|ushort|char16_t",
    4: "unsigned int|uint32_t|uint|char32_t",
    # CUDA's own handles for textures and surfaces are 64-bit integers.
    8: "unsigned long|unsigned long long|uint64_t|size_t|uintptr_t|uintmax_t|ulong"
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
def _known_types() -> dict[str, Known]:
    table: dict[str, Known] = {}
    for kind, code, names in (("int", _INT, _SIGNED), ("uint", _UINT, _UNSIGNED)):
        for size, text in names.items():
            known = Known(kind, size, size, ((code, 8 * size),))
            table |= dict.fromkeys(text.split("|"), known)
    half = Known("float", 2, 2, ((_FLOAT, 16),), "float16")
    bfloat = Known("float", 2, 2, ((_BFLOAT, 16),), "bfloat16")
    table |= {
        # Plain char is bytes: numpy and torch have both spellings and users mean neither sign.
        "char": Known("int", 1, 1, ((_INT, 8), (_UINT, 8))),
        # Only bool tensors for bool*: any other byte than 0 and 1 is undefined behaviour.
        "bool": Known("bool", 1, 1, ((_BOOL, 8),)),
        "float": Known("float", 4, 4, ((_FLOAT, 32),), "float32"),
        "double": Known("float", 8, 8, ((_FLOAT, 64),), "float64"),
        **dict.fromkeys(("__half", "half", "_Float16", "cutlass::half_t"), half),
        **dict.fromkeys(("__nv_bfloat16", "nv_bfloat16", "__bf16", "cutlass::bfloat16_t"), bfloat),
        **dict.fromkeys(("__half2", "half2"), Known("struct", 4, 4, half.dtypes)),
        **dict.fromkeys(("__nv_bfloat162", "nv_bfloat162"), Known("struct", 4, 4, bfloat.dtypes)),
        "cutlass::tfloat32_t": Known("struct", 4, 4, ((_FLOAT, 32),)),
        **dict.fromkeys(("__int128", "unsigned __int128"), Known("struct", 16, 16)),
        "dim3": Known("struct", 12, 4),
        **dict.fromkeys(("CUtensorMap", "CUtensorMap_st"), Known("struct", 128, 64)),
    }
    table |= _narrow_floats()
    table |= dict(_vectors(table))
    complexes = {"float": ("cuComplex", "cuFloatComplex"), "double": ("cuDoubleComplex",)}
    for scalar, aliases in complexes.items():
        vector = table[f"{scalar}2"]
        own = (_COMPLEX, 8 * vector.size)
        both = Known("struct", vector.size, vector.size, (*vector.dtypes, own))
        table |= dict.fromkeys((f"{scalar}2", *aliases), both)
        alone = both._replace(dtypes=(own,))
        table |= dict.fromkeys((f"complex<{scalar}>", f"thrust::complex<{scalar}>"), alone)
    return table


def _narrow_floats() -> dict[str, Known]:
    table = {}
    for pattern, dtypes in _NARROW.items():
        for lanes in (1, 2, 4):
            size = max(1, lanes // 2) if pattern.startswith("fp4") else lanes
            name = "__nv_" + pattern.format("" if lanes == 1 else f"x{lanes}")
            table[name] = Known("struct", size, size, dtypes)
    table["cutlass::float_e4m3_t"] = table["__nv_fp8_e4m3"]
    table["cutlass::float_e5m2_t"] = table["__nv_fp8_e5m2"]
    return table


def _vectors(scalars: dict[str, Known]) -> Iterator[tuple[str, Known]]:
    same = {"char": "signed char", "longlong": "long", "ulonglong": "ulong"}
    names = "char uchar short ushort int uint long ulong longlong ulonglong float double"
    for name in names.split():
        scalar = scalars[same.get(name, name)]
        for lanes in (1, 2, 3, 4):
            size = scalar.size * lanes
            align = scalar.size if lanes == 3 else min(size, 16)
            yield f"{name}{lanes}", Known("struct", size, align, scalar.dtypes)
        if scalar.size == 8:
            for align in (16, 32):
                yield f"{name}4_{align}a", Known("struct", 32, align, scalar.dtypes)
