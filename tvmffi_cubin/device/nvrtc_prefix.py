"""`Prefix`: the directives that a source begins with, which is all that NVRTC can precompile."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Prefix", "find_prefix"]

# Blanks, comments and continued lines: what may stand before a directive.
_GAP = re.compile(r"(?:\s|\\\n|//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)*", re.DOTALL)
# A directive to the end of its line; a comment may run on over further lines, and so may it. In a
# string no comment begins: "src/*.h".
_DIRECTIVE = re.compile(
    r'#(?:"(?:[^"\\\n]|\\.)*"|/\*.*?\*/|//(?:[^\n\\]|\\.|\\\n)*|\\\n|[^\n])*', re.DOTALL
)
_NAME = re.compile(r"#(?:[ \t]|\\\n|/\*.*?\*/)*(\w*)", re.DOTALL)


@dataclass(frozen=True)
class Prefix:
    """The directives of a source up to the last ``#include`` before anything else.

    Attributes
    ----------
    end : int
        Where the line after that ``#include`` begins.
    lines : int
        How many lines are before.
    directives : tuple of str
        The directives before, comments between them left out: with the same directives, two
        sources have the same headers.
    """

    end: int
    lines: int
    directives: tuple[str, ...]


def find_prefix(source: str) -> Prefix | None:
    """Return the prefix of a source, which a ``#line`` ends as well; None where it has none."""
    place, end, depth = 0, 0, 0
    found: list[str] = []
    kept: tuple[str, ...] = ()
    while True:
        gap = _GAP.match(source, place)
        place = gap.end() if gap else place
        directive = _DIRECTIVE.match(source, place)
        if directive is None:
            break
        name = _NAME.match(directive[0])
        word = name[1] if name else ""
        if word == "line" or word.isdigit():
            break
        found.append(directive[0].rstrip())
        place = directive.end()
        depth += word in ("if", "ifdef", "ifndef")
        depth -= word == "endif"
        # A condition that is open here belongs to what follows, as a whole.
        if depth == 0 and any("include" in text for text in found[len(kept) :]):
            end, kept = source.find("\n", place) + 1 or len(source), tuple(found)
    if not kept:
        return None
    return Prefix(end, source.count("\n", 0, end), kept)
