"""The tokens of a CUDA source text, with their places, and its preprocessor directives."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, compress
from typing import NamedTuple

__all__ = ["KEYWORDS", "Directive", "Lexed", "is_name", "lex", "line_starts"]

_COMMENT = r"//[^\n]*(?:(?:(?<=\\)|(?<=\\\r))\n[^\n]*)*|/\*[\s\S]*?(?:\*/|\Z)"
_RAW = r'(?:u8|[uUL])?R"(?P<{0}>[^ ()\\\t\v\f\n]{{0,16}})\([\s\S]*?\)(?P={0})"'
_QUOTED = r"""(?:u8|[uUL])?(?:"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])+')"""
_DIRECTIVE = rf"""\#(?:[^\n/"'\\uULR]+|{_COMMENT}|{_RAW.format("in_directive")}|{_QUOTED}
    |\\\r?\n|[^\n])*"""
_PIECE = re.compile(
    rf"""(?:\s+|\\\r?\n|{_COMMENT})+
    |{_RAW.format("mark")}
    |{_QUOTED}
    |[^\W\d$][\w$]*
    |\.?\d(?:[eEpP][+-]|'?\w|\.)*
    |<<<|<=>|<<=?|->\*?|::|\.\.\.|&&|\|\||\#\#|[-+*/%&|^=!<>]=|\+\+|--
    |{_DIRECTIVE}
    |[\s\S]
    """,
    re.VERBOSE,
)
_BODY = re.compile(_PIECE.pattern.replace(_DIRECTIVE, r"\#"), re.VERBOSE)

_KEYWORDS_TEXT = """
    alignas alignof and asm auto bool break case catch char char16_t char32_t char8_t class
    concept const const_cast consteval constexpr constinit continue decltype default delete do
    double dynamic_cast else enum explicit export extern false float for friend goto if inline
    int long mutable namespace new noexcept not nullptr operator or private protected public
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct
    switch template this thread_local throw true try typedef typeid typename union unsigned
    using virtual void volatile while
"""
KEYWORDS = frozenset(_KEYWORDS_TEXT.split())
"""Words of the language, which name nothing."""


class Directive(NamedTuple):
    """A preprocessor directive."""

    start: int
    end: int
    name: str
    rest: str
    before: int
    """How many tokens come before it."""


class Lexed(NamedTuple):
    """Tokens of a text, without white space, comments and directives."""

    text: str
    words: list[str]
    """The tokens."""
    starts: list[int]
    """Their offsets."""
    directives: tuple[Directive, ...]
    lines: list[int]
    """Offsets at which lines begin."""

    def end(self, index: int) -> int:
        """Return the offset behind a token."""
        return self.starts[index] + len(self.words[index])

    def line(self, offset: int) -> int:
        """Return the line of an offset, counted from 1."""
        return bisect_right(self.lines, offset)


def line_starts(text: str) -> list[int]:
    """Return the offsets at which the lines of a text begin."""
    return [0, *accumulate(len(line) + 1 for line in text.split("\n"))][:-1]


def is_name(word: str) -> bool:
    """Whether a token is an identifier or a keyword, not a literal with a prefix."""
    return (word[0].isalpha() or word[0] == "_") and word[-1] not in "\"'"


def lex(text: str, *, start: int = 0, end: int | None = None, is_body: bool = False) -> Lexed:
    """Return the tokens of a text, or of a part of it.

    Parameters
    ----------
    text : str
        The text.
    start, end : int
        The part; offsets are of the whole text.
    is_body : bool
        Whether it is a macro's body, in which ``#`` is an operator.
    """
    end = len(text) if end is None else end
    pattern = _BODY if is_body else _PIECE
    pieces = [match[0] for match in pattern.finditer(text, start, end)]
    starts = list(accumulate(map(len, pieces), initial=start))[:-1]
    firsts = [piece[0] for piece in pieces]
    kept = [_is_token(first, piece) for first, piece in zip(firsts, pieces, strict=True)]
    directives: list[Directive] = []
    if not is_body and "#" in text:
        directives = _directives(pieces, starts, kept)
    words = list(compress(pieces, kept))
    return Lexed(text, words, list(compress(starts, kept)), tuple(directives), line_starts(text))


def _is_token(first: str, piece: str) -> bool:
    if first in " \n\t\r\\\v\f":
        return piece == "\\"
    return not (first == "/" and len(piece) > 1 and piece[1] in "/*") and not first.isspace()


_NAME = re.compile(r"\#(?:[ \t]|/\*.*?\*/)*(\w*)")


def _directives(pieces: Sequence[str], starts: list[int], kept: list[bool]) -> list[Directive]:
    """Take the directives out of the tokens."""
    found: list[Directive] = []
    at = [index for index, piece in enumerate(pieces) if piece[0] == "#"]
    counts = list(accumulate(kept, initial=0))
    for index in at:
        kept[index] = False
        piece = pieces[index]
        name = _NAME.match(piece)
        word, rest = (name[1], piece[name.end() :]) if name else ("", piece)
        begin = starts[index]
        found.append(Directive(begin, begin + len(piece), word, rest, counts[index] - len(found)))
    return found
