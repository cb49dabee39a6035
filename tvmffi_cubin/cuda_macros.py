"""The macros of a CUDA source text, and the words that they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .cuda_brackets import Tokens, match_brackets
from .cuda_item import Launch, Macro, Span
from .cuda_launches import find_launches
from .cuda_lex import KEYWORDS, Directive, is_name, lex

__all__ = ["SPECIFIERS", "WORDS", "MacroFacts", "body_tokens", "facts_of", "read_macros"]

_WORDS_TEXT = """
    __global__ __device__ __host__ __constant__ __managed__ __shared__ constexpr consteval
    static inline extern friend
"""
WORDS = frozenset(_WORDS_TEXT.split())
"""Words that say what becomes of a declaration."""

_SPECIFIERS_TEXT = """
    virtual explicit typedef mutable thread_local register volatile const constinit typename
    __forceinline__ __noinline__ __inline__ __restrict__ __extension__ __inline __forceinline
    __grid_constant__
"""
SPECIFIERS = WORDS | frozenset(_SPECIFIERS_TEXT.split())
"""Words of a declaration that are no types."""

# Besides them, what a macro has that stands for specifiers and attributes alone.
_ATTRIBUTES_TEXT = """
    alignas __align__ __launch_bounds__ __cluster_dims__ __attribute__ __declspec noexcept
    __maxnreg__ __block_size__ always_inline noinline visibility default hidden unused
    maybe_unused nodiscard aligned packed _Pragma C
"""
_ATTRIBUTES = SPECIFIERS | frozenset(_ATTRIBUTES_TEXT.split())

_TYPE = re.compile(
    r"\b(?:void|bool|char\w*|short|int|long|float|double|(?:un)?signed|auto|decltype|struct|class"
    r"|union|enum|template|operator)\b"
)
_HEAD = re.compile(r"(?:[ \t]|\\\r?\n|/\*[\s\S]*?\*/)*([^\W\d]\w*)(\(([^()]*)\))?")


def read_macros(tokens: Tokens, others: Iterable[Macro]) -> tuple[Macro, ...]:
    """Return the macros that a text defines.

    Parameters
    ----------
    tokens : Tokens
        The text's.
    others : iterable of Macro
        Those of texts before it, by which the words of these are known.
    """
    found = [_read(tokens, one) for one in tokens.directives if one.name == "define"]
    macros = [macro for macro in found if macro is not None]
    facts = facts_of([*others, *macros])
    return tuple(macro._replace(words=facts[macro.name].words) for macro in macros)


class MacroFacts(NamedTuple):
    """What is known of all macros of one name together."""

    words: frozenset[str]
    """Those of `WORDS` that it stands for, by way of other macros too."""
    specifies: bool
    """Whether it stands for specifiers and attributes alone, or for nothing."""
    is_function: bool
    """Whether it takes parameters."""
    has_end: bool
    """Whether there is a brace or a semicolon in it, by way of other macros too."""


def facts_of(macros: Iterable[Macro]) -> Mapping[str, MacroFacts]:
    """Return what is known of macros, by their names.

    Parameters
    ----------
    macros : iterable of Macro
        All of them; several may have one name.
    """
    facts: dict[str, MacroFacts] = {}
    uses: dict[str, frozenset[str]] = {}
    for macro in macros:
        names = macro.uses - {"__VA_ARGS__", "__VA_OPT__", *(macro.params or ())}
        has_end = any(character in macro.body for character in "{};")
        specifies = not has_end and not _TYPE.search(macro.body)
        one = MacroFacts(macro.words, specifies, macro.params is not None, has_end)
        known = facts.setdefault(macro.name, one)
        facts[macro.name] = MacroFacts(
            known.words | one.words,
            known.specifies and one.specifies,
            known.is_function or one.is_function,
            known.has_end or one.has_end,
        )
        uses[macro.name] = uses.get(macro.name, frozenset()) | names
    changed = True
    while changed:
        changed = False
        for name, used in uses.items():
            inner = [facts[one] for one in used if one in facts]
            specifies = name not in used and all(one in _ATTRIBUTES or one in facts for one in used)
            known = facts[name]
            more = MacroFacts(
                known.words.union(*(one.words for one in inner)),
                known.specifies and specifies and all(one.specifies for one in inner),
                known.is_function,
                known.has_end or any(one.has_end for one in inner),
            )
            changed |= more != known
            facts[name] = more
    return facts


def body_tokens(text: str, start: int, end: int) -> Tokens:
    """Return the tokens of a macro's body."""
    return match_brackets(lex(text, start=start, end=end, is_body=True)).tokens


def _read(tokens: Tokens, directive: Directive) -> Macro | None:
    head = _HEAD.match(directive.rest)
    if head is None:
        return None
    text = tokens.lexed.text
    start = directive.end - len(directive.rest) + head.end()
    body = text[start : directive.end]
    words = lex(body, is_body=True).words
    names = frozenset(word for word in words if is_name(word))
    launches: tuple[Launch, ...] = ()
    if "<<<" in body:
        launches = find_launches(body_tokens(text, start, directive.end)).launches
    params = None if head[2] is None else _params(head[3])
    span = Span(directive.start, directive.end)
    line = tokens.lexed.line(directive.start)
    return Macro(
        head[1], line, span, names - KEYWORDS, names & WORDS, launches, params, body.strip()
    )


def _params(text: str) -> tuple[str, ...]:
    text = re.sub(r"/\*[\s\S]*?\*/|\\\r?\n", " ", text).strip()
    return tuple(part.strip() for part in text.split(",")) if text else ()
