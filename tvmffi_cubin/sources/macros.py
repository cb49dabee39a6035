"""`Expanded`: code with the macros expanded that hide a kernel, a launch or a qualifier."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping

from .code import TELLING, Code, Macro

# What expansions may add to a text, and how far one may lead into another.
_MOST = 1 << 20
_DEEPEST = 20

_NAME = re.compile(r"[A-Za-z_]\w*")
_OPENING = re.compile(r"\s*\(")
_PARENTHESIS = re.compile(r"[()]")
_SEPARATOR = re.compile(r"[()\[\]{},]")
_QUOTED = re.compile(r"(?<!#)#\s*(\w+)")
_PASTE = re.compile(r"\s*##\s*")


class Expanded:
    """Expanded code, and where its characters are in the source.

    Parameters
    ----------
    text : str
        The text.
    edits : list of tuple of int
        Of each expansion, its start and end, and those of its macro in the source.
    """

    def __init__(self, text: str, edits: list[tuple[int, int, int, int]]) -> None:
        self.text = text
        self.edits = edits
        self.starts = [edit[0] for edit in edits]

    def origin(self, offset: int) -> tuple[int, bool]:
        """Return an offset in the source, of an expansion its macro's, and whether it is one."""
        index = bisect_right(self.starts, offset) - 1
        if index < 0:
            return offset, False
        _, end, source_start, source_end = self.edits[index]
        if offset < end:
            return source_start, True
        return offset - end + source_end, False


def expand(code: Code) -> Expanded:
    """Expand the macros of a text that matter, wherever they are used."""
    return _Expander(_telling(code.macros)).run(code.text)


def _telling(macros: Mapping[str, Macro]) -> dict[str, Macro]:
    """Return the macros that matter: with a telling body, or using another that matters."""
    found = {name: macro for name, macro in macros.items() if TELLING.search(macro[1])}
    users: dict[str, list[str]] = {}
    for name, macro in macros.items():
        for word in _NAME.findall(macro[1]):
            users.setdefault(word, []).append(name)
    work = [*found]
    while work:
        for name in users.get(work.pop(), ()):
            if name not in found:
                found[name] = macros[name]
                work.append(name)
    return found


class _Expander:
    def __init__(self, macros: Mapping[str, Macro]) -> None:
        self.macros = macros
        self.left = _MOST

    def run(self, text: str) -> Expanded:
        pieces: list[str] = []
        edits: list[tuple[int, int, int, int]] = []
        place = length = 0
        for match in _NAME.finditer(text):
            start = match.start()
            if start < place or match[0] not in self.macros:
                continue
            found = self._expansion(text, match, frozenset())
            if found is None:
                continue
            expansion, end = found
            before = length + start - place
            length = before + len(expansion)
            edits.append((before, length, start, end))
            pieces += [text[place:start], expansion]
            place = end
        pieces.append(text[place:])
        return Expanded("".join(pieces), edits)

    def _inner(self, text: str, hidden: frozenset[str]) -> str:
        """Expand what an expansion has led to."""
        pieces, place = [], 0
        for match in _NAME.finditer(text):
            name, start = match[0], match.start()
            if start >= place and name in self.macros and name not in hidden:
                found = self._expansion(text, match, hidden)
                if found is not None:
                    pieces += [text[place:start], found[0]]
                    place = found[1]
        return "".join([*pieces, text[place:]])

    def _expansion(
        self, text: str, match: re.Match[str], hidden: frozenset[str]
    ) -> tuple[str, int] | None:
        """Return a macro's expansion and where its use ends; None: it is not expanded."""
        name, end = match[0], match.end()
        names, body = self.macros[name]
        if self.left < 0 or len(hidden) == _DEEPEST:
            return None
        if names is not None:
            opening = _OPENING.match(text, end)
            if opening is None:
                return None
            end = self._closing(text, opening.end() - 1)
            if end < 0:
                return None
            body = _substitute(names, body, text[opening.end() : end - 1])
        self.left -= len(body) + len(name)
        return self._inner(body, hidden | {name}), end

    def _closing(self, text: str, start: int) -> int:
        """Return the index behind the parenthesis that closes one, -1 if none does."""
        depth = 0
        for match in _PARENTHESIS.finditer(text, start):
            depth += 1 if match[0] == "(" else -1
            if depth == 0:
                return match.end()
        self.left -= len(text) - start
        return -1


def _substitute(names: tuple[str, ...], body: str, arguments: str) -> str:
    values: list[str] = []
    depth = start = 0
    for match in _SEPARATOR.finditer(arguments):
        if match[0] == "," and depth == 0:
            values.append(arguments[start : match.start()].strip())
            start = match.end()
        elif match[0] != ",":
            depth += 1 if match[0] in "([{" else -1
    values.append(arguments[start:].strip())
    if names and names[-1] == "...":
        count = len(names) - 1
        values[count:] = [", ".join(values[count:])]
        names = (*names[:-1], "__VA_ARGS__")
    given = dict(zip(names, values, strict=False))
    body = _QUOTED.sub('""', body) if "#" in body else body
    body = _NAME.sub(lambda match: given.get(match[0], match[0]), body)
    return _PASTE.sub("", body) if "##" in body else body
