"""The texts of one side of mixed sources, so that changes of the other side leave no trace."""

from __future__ import annotations

import re

from .split import CutFile

__all__ = ["trimmed", "without_lines"]

_OWN_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
# Macros are mostly written so; what one of a header makes of the line it is in is not known.
_MACRO = re.compile(r"\b[A-Z][A-Z0-9_]+(?=\s*\()")
_TELLS_LINE = re.compile(r"__LINE__|__builtin_LINE|\bassert\b|source_location")


def trimmed(cut: CutFile) -> str:
    """Return the text of a file without the blanks behind what was cut."""
    original = cut.edited.source.split("\n")
    lines = cut.edited.text.split("\n")
    if len(lines) != len(original):
        return cut.edited.text
    # Of a line that is as it was, they may be part of a string.
    pairs = zip(lines, original, strict=True)
    return "\n".join(line if line == old else line.rstrip() for line, old in pairs)


def without_lines(text: str) -> str:
    """Return a text without its blank lines, if nothing in it tells in which line it stands."""
    macros = {*_MACRO.findall(text)} - {*_OWN_MACRO.findall(text)}
    if macros or _TELLS_LINE.search(text):
        return text
    return "\n".join(line for line in text.split("\n") if line.strip())
