"""What a CUDA source text consists of: its declarations, macros and launches, by their offsets."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CudaText", "Item", "Launch", "Macro", "Param", "Span"]


class Span(NamedTuple):
    """A stretch of a text: offsets of its first character and of the one behind its last."""

    start: int
    end: int


class Param(NamedTuple):
    """A parameter of a function or a template."""

    span: Span
    name: str
    """Empty where it has none."""
    name_at: int
    """Where its name is, or would have to be put."""
    is_pack: bool


class Launch(NamedTuple):
    """A kernel's launch: ``callee<<<config>>>(args)``."""

    callee: Span
    config: Span
    """What is between ``<<<`` and ``>>>``."""
    args: Span
    """What is between the parentheses."""
    line: int


class Item(NamedTuple):
    """A declaration at namespace or class scope, or an include line."""

    kind: str
    """One of: function, variable, type, alias, using, namespace, linkage, include, assert,
    instantiation, access, other."""
    span: Span
    """With template head, attributes and the semicolon behind it."""
    line: int
    names: tuple[str, ...] = ()
    """What it declares, unqualified; of a qualified definition ``A::f`` both ``A`` and ``f``."""
    words: frozenset[str] = frozenset()
    """Of ``__global__``, ``__device__``, ``__host__``, ``__constant__``, ``__managed__``,
    ``__shared__``, ``constexpr``, ``consteval``, ``static``, ``inline``, ``extern``, ``friend``:
    those that it has, by macros too."""
    uses: frozenset[str] = frozenset()
    """Identifiers in it, of macros their own names."""
    template: tuple[Param, ...] | None = None
    """None: it is no template. Empty: ``template <>``."""
    params: tuple[Param, ...] | None = None
    """Of a function."""
    declarator_end: int = 0
    """Where what stands for the body may be put: before ``{``, ``try`` or the ``:`` of member
    initialisers."""
    body: Span | None = None
    """With its braces; of a function that is a try block with its handlers, from ``try`` on."""
    launches: tuple[Launch, ...] = ()
    """All in it, within bodies too, in the order of their callees."""
    lambdas: tuple[tuple[int, frozenset[str]], ...] = ()
    """Lines and words of the lambdas in it that have execution space words."""
    children: tuple[Item, ...] = ()
    """Of namespaces, linkage blocks and class bodies."""
    path: str = ""
    """Of an include, as written."""
    is_quoted: bool = False
    """Whether an include's path is in quotes."""


class Macro(NamedTuple):
    """A ``#define``."""

    name: str
    line: int
    span: Span
    """Of the directive."""
    uses: frozenset[str]
    """Identifiers in its body."""
    words: frozenset[str]
    """As an item's: those that it stands for."""
    launches: tuple[Launch, ...]
    """Whole launches in its body."""
    params: tuple[str, ...] | None
    """None: it takes none. A last one of ``...`` takes all that is left."""
    body: str


class CudaText(NamedTuple):
    """A text and what is in it."""

    text: str
    items: tuple[Item, ...]
    macros: tuple[Macro, ...]
    problems: tuple[tuple[int, str], ...]
    """Lines, and what could not be cut there and why."""
