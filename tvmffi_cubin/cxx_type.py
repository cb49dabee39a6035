"""C++ parameter types as text: `CxxType`, what pointers accept, declared lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from . import cxx_table
from .cxx_parser import Declaration, Parser

__all__ = ["CxxType", "Param", "Pointee", "parse_params", "parse_type", "sized_type"]


@dataclass(frozen=True)
class Pointee:
    """What a pointer points to.

    Attributes
    ----------
    text : str
        Normalised spelling, such as ``"const float"``.
    dtypes : tuple of (int, int)
        The DLPack (code, bits) pairs of tensors that may be passed; empty: any.
    align : int
        Alignment that the type needs, in bytes; 1 where it is unknown.
    """

    text: str
    dtypes: tuple[tuple[int, int], ...] = ()
    align: int = 1


@dataclass(frozen=True)
class CxxType:
    """A C++ type of a kernel parameter.

    Attributes
    ----------
    text : str
        Normalised spelling: ``const`` first, no top-level qualifiers, no ``__restrict__``.
    kind : str
        ``"pointer"``, ``"int"``, ``"uint"``, ``"float"``, ``"bool"``, ``"struct"`` or ``"raw"``. A
        name that is not known is a ``"struct"``: passed by value, as bytes (it may be an
        enumeration). Of what is raw the size is known alone.
    size : int or None
        In bytes; None where it is unknown.
    scalar : str or None
        For kind ``"float"``: ``"float16"``, ``"bfloat16"``, ``"float32"`` or ``"float64"``.
    pointee : Pointee or None
        For kind ``"pointer"``.
    """

    text: str
    kind: str
    size: int | None
    scalar: str | None = None
    pointee: Pointee | None = None


@dataclass(frozen=True)
class Param:
    """A named, typed parameter; `ndim` is the rank that its tensor must have, None: any."""

    name: str
    type: CxxType
    ndim: int | None = None


# What host code passes on, for `Launch(stream=...)`.
_STREAMS = ("CUstream", "cudaStream_t")


def _make(declared: Declaration) -> CxxType:
    known = cxx_table.lookup(declared.base)
    if not declared.pointers:
        if declared.base in _STREAMS:
            return CxxType(declared.base, "pointer", 8, pointee=Pointee("CUstream_st"))
        if known is None:
            return CxxType(declared.base, "struct", None)
        return CxxType(declared.base, known.kind, known.size, known.scalar)
    text = " ".join([*declared.qualifiers, declared.base])
    if declared.compound:
        return CxxType(f"{text} (*)[]", "pointer", 8, pointee=Pointee(f"{text}[]"))
    for inner in declared.pointers[:-1]:
        text += "*" + "".join(f" {word}" for word in inner)
    if len(declared.pointers) > 1:
        pointee = Pointee(text, (), 8)
    elif known is None:
        pointee = Pointee(text)
    else:
        pointee = Pointee(text, known.dtypes, known.align)
    return CxxType(f"{text}*", "pointer", 8, pointee=pointee)


def sized_type(size: int) -> CxxType:
    """Return the type of a parameter of which an image says the size and nobody the type."""
    return CxxType(f"{size} byte{'' if size == 1 else 's'}", "raw", size)


def parse_type(text: str) -> CxxType:
    """Parse a type without a name, such as ``"float const* __restrict__"``.

    Raises
    ------
    ValueError
        `text` is no type, or one that a kernel cannot take; the message points at the character.
    """
    parser = Parser(text)
    declared = parser.declaration()
    if declared.name:
        raise parser.error(f"unexpected {declared.name!r} after the type", declared.name_at)
    if parser.token:
        raise parser.error(f"unexpected {parser.token!r} after the type")
    return _make(declared)


def parse_params(text: str) -> tuple[Param, ...]:
    """Parse a declared parameter list, such as ``"const float* x: ndim=2, int64_t n"``.

    Every parameter has a name; ``: ndim=N`` after it gives the rank of its tensor. Default values
    are an error (what is not passed at the call belongs in ``Launch(args=...)``).

    Raises
    ------
    ValueError
        The text cannot be parsed; the message points at the character.
    """
    return tuple(_params(Parser(text)))


def _params(parser: Parser) -> Iterator[Param]:
    if not parser.token or [token for token, _ in parser.tokens] == ["void", ""]:
        return
    seen = set()
    while True:
        declared = parser.declaration()
        name = declared.name
        if not name:
            raise parser.error("a declared parameter needs a name", declared.name_at)
        if name in seen:
            raise parser.error(f"parameter {name!r} is declared twice", declared.name_at)
        seen.add(name)
        yield Param(name, _make(declared), _rank(parser) if parser.accept(":") else None)
        if parser.token == "=":
            remedy = "give the value in Launch(args=...) instead"
            raise parser.error(f"a declared parameter takes no default value; {remedy}")
        if not parser.token:
            return
        if not parser.accept(","):
            raise parser.error(f"expected ',' or the end, not {parser.token!r}")


def _rank(parser: Parser) -> int:
    if not parser.accept("ndim") or not parser.accept("="):
        raise parser.error("expected 'ndim=' and a number after ':'")
    if not parser.token.isdecimal():
        raise parser.error("expected a number of dimensions")
    return int(parser.take())
