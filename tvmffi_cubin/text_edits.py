"""Edits of a text that remember where everything was: messages find the user's own place."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

__all__ = ["Edit", "EditedText", "apply", "blank", "copied"]

# What may hold what looks like a directive and is none comes first, directives next.
_KEPT = re.compile(
    r"""//(?:[^\n\\]|\\[\s\S])*
    |/\*[\s\S]*?(?:\*/|\Z)
    |(?<!\w)(?:u8|[uUL])?R"(?P<mark>[^ ()\\\t\v\f\n]{0,16})\([\s\S]*?\)(?P=mark)"
    |"(?:[^"\\\n]|\\[\s\S])*"
    |(?<!\w)'(?:[^'\\\n]|\\[\s\S])+'
    |(?P<directive>^[ \t]*\#(?:/\*[\s\S]*?\*/|\\\r?\n|[^\n])*)
    """,
    re.VERBOSE | re.MULTILINE,
)
# Those that are part of what stands around them: clang refuses pragmas of loops without a loop.
_OF_CODE = re.compile(
    r"""[ \t]*\#(?:[ \t]|/\*[\s\S]*?\*/)*
    (?:include\b|pragma[ \t]+(?:(?:GCC|clang)[ \t]+)?(?:unroll|nounroll|ivdep|loop|omp|acc)\b)
    """,
    re.VERBOSE,
)
_VISIBLE = re.compile(r"\S+")


class Edit(NamedTuple):
    """What replaces a stretch of a text."""

    start: int
    end: int
    text: str
    origin: int = -1
    """Where in the text before this was copied from, character by character; -1: nowhere."""


class EditedText(NamedTuple):
    """A text after edits of it."""

    original: str
    text: str
    edits: tuple[Edit, ...]
    """In the order of the text."""
    before: EditedText | None = None
    """The round of edits before this one, of which `original` is the text."""

    @property
    def source(self) -> str:
        """What it was before all rounds of edits."""
        return self.original if self.before is None else self.before.source

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Return where in the source something in the text came from.

        Parameters
        ----------
        line : int
            A line of the text, counted from 1.
        column : int
            Characters into it, counted from 1. 0 means that it is not known: so is the answer's.
        """
        offset = self.origin(_offset(self.text, line, column))
        found = _place(self.source, offset)
        return found if column > 0 else (found[0], 0)

    def origin(self, offset: int) -> int:
        """Return the offset in the source of a character of the text, or of the edit it is in."""
        shift = 0
        for edit in self.edits:
            at = edit.start + shift
            if offset < at:
                break
            if offset < at + len(edit.text):
                offset = _within(edit, offset - at)
                shift = 0
                break
            shift += len(edit.text) - (edit.end - edit.start)
        offset = min(offset - shift, len(self.original))
        return offset if self.before is None else self.before.origin(offset)

    def then(self, edits: Iterable[Edit]) -> EditedText:
        """Return this text after another round of edits, which are of its own text."""
        return apply(self.text, edits)._replace(before=self)


def apply(text: str, edits: Iterable[Edit]) -> EditedText:
    """Return a text with edits made.

    Parameters
    ----------
    text : str
        The text.
    edits : iterable of Edit
        In any order; of several insertions at one place, the first comes first.

    Raises
    ------
    ValueError
        Two overlap, or one is outside the text.
    """
    ordered = tuple(sorted(edits, key=lambda edit: (edit.start, edit.end)))
    parts: list[str] = []
    done = 0
    for edit in ordered:
        if not done <= edit.start <= edit.end <= len(text):
            raise ValueError(f"an edit of {edit.start} to {edit.end} overlaps or is outside")
        parts += (text[done : edit.start], edit.text)
        done = edit.end
    return EditedText(text, "".join([*parts, text[done:]]), ordered)


def blank(text: str, start: int, end: int) -> list[Edit]:
    """Return edits that leave nothing of a stretch but its white space and its directives.

    Includes go, too: there may be a part of a function in what they bring. So do pragmas of loops.

    Parameters
    ----------
    text : str
        The text.
    start, end : int
        The stretch. It begins and ends between tokens.
    """
    edits: list[Edit] = []
    for directive in _directives(text, start, end):
        edits += _spaces(text, start, directive[0])
        start = directive[1]
    return edits + _spaces(text, start, end)


def copied(text: str, start: int, end: int, *, at: int) -> Edit:
    """Return the edit that puts a copy of a stretch elsewhere: on one line, without its comments.

    Parameters
    ----------
    text : str
        The text.
    start, end : int
        The stretch, in which there are no directives.
    at : int
        Where the copy is inserted.
    """
    copy = _KEPT.sub(_without_comment, text[start:end])
    return Edit(at, at, re.sub(r"\\?\r?\n", _same_width, copy), origin=start)


def _without_comment(match: re.Match[str]) -> str:
    return _same_width(match) if match[0].startswith(("//", "/*")) else match[0]


def _same_width(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _directives(text: str, start: int, end: int) -> list[tuple[int, int]]:
    found = _KEPT.finditer(text, start, end)
    directives = [match for match in found if match["directive"] is not None]
    return [match.span() for match in directives if not _OF_CODE.match(match[0])]


def _spaces(text: str, start: int, end: int) -> list[Edit]:
    blanked = _VISIBLE.sub(_same_width, text[start:end])
    return [Edit(start, end, blanked)] if blanked != text[start:end] else []


def _within(edit: Edit, offset: int) -> int:
    if edit.origin >= 0:
        return edit.origin + offset
    return edit.start + offset if len(edit.text) == edit.end - edit.start else edit.start


def _line_starts(text: str) -> list[int]:
    lengths = [len(line) + 1 for line in text.split("\n")]
    return [0, *accumulate(lengths)][:-1]


def _offset(text: str, line: int, column: int) -> int:
    starts = [*_line_starts(text), len(text) + 1]
    line = min(max(line, 1), len(starts) - 1)
    return min(starts[line - 1] + max(column, 1) - 1, starts[line] - 1)


def _place(text: str, offset: int) -> tuple[int, int]:
    starts = _line_starts(text)
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1
