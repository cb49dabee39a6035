"""What both sides of a cut share: items by name, reachability, and edits of a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable

from .declarations import read_items
from .items import Item, top
from .tokens import Tokens, lex


class Text:
    """A preprocessed text, which begins with a ``#line``, and its items."""

    def __init__(self, source: str) -> None:
        self.source = source
        pieces = lex(source)
        self._marks = [x for x in pieces if x[0] == "line" and x[1].startswith("#line")]
        self.tokens = Tokens([x for x in pieces if x[0] != "line"])
        self.items = read_items(self.tokens)
        # Stretches of the source and their replacements; line ends stay.
        self.edits: list[tuple[int, int, str]] = []
        self.by_name: dict[str, list[Item]] = {}
        for item in top(self.items):
            names = {*item.names, *item.scope.split("::")} - {""}
            if item.name == "operator":
                # Found by what it takes, since its uses do not name it.
                names |= self.tokens.words(item.first, self.head_end(item))
            for name in names:
                self.by_name.setdefault(name, []).append(item)

    def line(self, number: int) -> tuple[str, int]:
        """Return the file and line of a token."""
        place = self.tokens.starts[number]
        index = bisect_right(self._marks, place, key=lambda mark: mark[2]) - 1
        _, mark, start, _ = self._marks[index]
        _, line, file = mark.split(" ", 2)
        return file[1:-1], int(line) + self.source.count("\n", start, place) - 1

    def words(self, item: Item, end_of: Callable[[Item], int]) -> set[str]:
        """Return the words of an item up to `end_of` it; for a class, member by member."""
        if item.body is None or not item.children:
            return self.tokens.words(item.first, end_of(item))
        words = self.tokens.words(item.first, item.body[0])
        words |= self.tokens.words(item.body[1], item.end)
        return words.union(*(self.words(child, end_of) for child in item.children))

    def head_end(self, item: Item) -> int:
        """Return the number of the token where a function's body or initializers begin."""
        if item.body is None:
            return item.end
        return item.initialisers if item.initialisers is not None else item.body[0]

    def reached(
        self, roots: Iterable[Item], end_of: Callable[[Item], int], names: Iterable[str] = ()
    ) -> tuple[set[int], set[str]]:
        """Return the identities of all items reachable from roots and names, and their `words`."""
        found: set[int] = set()
        seen: set[str] = set()
        pending: list[Item] = [*roots]
        new = {*names}
        while pending or new:
            seen |= new
            pending += (item for name in new for item in self.by_name.get(name, ()))
            new = set()
            if pending and id(item := pending.pop()) not in found:
                found.add(id(item))
                new = self.words(item, end_of) - seen
        return found, seen

    def pointers(self, kept: Container[int]) -> list[str]:
        """Return null pointers, as code, to those of the items that are classes in namespaces."""
        found = []
        for item in top(self.items):
            is_whole = item.kind == "class" and item.body and not (item.templates or item.scope)
            key = item.words & {"class", "struct", "union"} if id(item) in kept else ()
            if is_whole and key and "enum" not in item.words:
                if item.name in item.words:  # a function may have the same name
                    found.append(f"static_cast<{key.pop()} {item.qualified}*>(nullptr)")
                elif "typedef" in item.words:
                    found.append(f"static_cast<{item.qualified}*>(nullptr)")
        return found

    def replace(self, first: int, end: int, text: str = "") -> None:
        """Replace some tokens with a text."""
        self.edits.append((self.tokens.starts[first], self.tokens.ends[end - 1], text))

    def insert(self, place: int, text: str) -> None:
        """Insert a text at a position."""
        self.edits.append((place, place, text))

    def edited(self) -> str:
        """Return the edited text; of edits that overlap, the first and longest counts.

        Text inserted between two tokens comes before the replacement of the second.
        """
        source, pieces, at = self.source, [], 0
        for start, end, text in sorted(self.edits, key=lambda x: (x[0], x[1] > x[0], -x[1])):
            if start >= at:
                pieces += [source[at:start], text, _line_ends(source[start:end], text)]
                at = end
        return "".join([*pieces, source[at:]])


def _line_ends(before: str, now: str) -> str:
    """Return what to append to a text so that the lines after it keep their numbers."""
    mark = next(reversed([*re.finditer(r"^#line (\d+) (.*)\n", before, re.MULTILINE)]), None)
    if mark is None:
        return "\n" * (before.count("\n") - now.count("\n"))
    return f"\n#line {int(mark[1]) + before.count(chr(10), mark.end())} {mark[2]}\n"
