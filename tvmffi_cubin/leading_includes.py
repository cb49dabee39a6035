"""The headers that a source begins with, before anything that could change what they mean."""

from __future__ import annotations

import re

__all__ = ["leading_includes"]

# White space, a comment, or an include of angle brackets that is alone on its line.
_PIECE = re.compile(
    r"\s+|//[^\n\\]*(?=\n|\Z)|/\*.*?\*/"
    r"|\#[^\S\n]*include[^\S\n]*<([^>\n]+)>(?=[^\S\n]*(?:\n|//|/\*|\Z))",
    re.DOTALL,
)


def leading_includes(text: str) -> tuple[str, ...]:
    """Return the names in the ``#include <...>`` lines with which a source begins.

    Any other directive ends them, a quoted include too: it may define macros that the headers after
    it look at.
    """
    names, at = [], 0
    while piece := _PIECE.match(text, at):
        if piece[1]:
            names.append(piece[1].strip())
        at = piece.end()
    return tuple(names)
