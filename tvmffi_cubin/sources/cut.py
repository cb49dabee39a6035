"""What both sides of a cut share: items by name, what is reached from where, edits of a text."""

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
        # Stretches of it, and what stands there instead; line ends stay.
        self.edits: list[tuple[int, int, str]] = []
        self.by_name: dict[str, list[Item]] = {}
        for item in top(self.items):
            names = {*item.names, *item.scope.split("::")} - {""}
            if item.name == "operator":
                # Found by what it takes, as it is used without its name.
                names |= self.tokens.words(item.first, self.head_end(item))
            for name in names:
                self.by_name.setdefault(name, []).append(item)

    def line(self, number: int) -> tuple[str, int]:
        """Return the file, and the line in it, where a token stands."""
        place = self.tokens.starts[number]
        index = bisect_right(self._marks, place, key=lambda mark: mark[2]) - 1
        _, mark, start, _ = self._marks[index]
        _, line, file = mark.split(" ", 2)
        return file[1:-1], int(line) + self.source.count("\n", start, place) - 1

    def words(self, item: Item, end_of: Callable[[Item], int]) -> set[str]:
        """Return the words of an item up to where `end_of` says; of a class, by its members."""
        if item.body is None or not item.children:
            return self.tokens.words(item.first, end_of(item))
        words = self.tokens.words(item.first, item.body[0])
        words |= self.tokens.words(item.body[1], item.end)
        return words.union(*(self.words(child, end_of) for child in item.children))

    def head_end(self, item: Item) -> int:
        """Return the number of the token where a function's body or initialisers begin."""
        if item.body is None:
            return item.end
        return item.initialisers if item.initialisers is not None else item.body[0]

    def reached(
        self, roots: Iterable[Item], end_of: Callable[[Item], int], names: Iterable[str] = ()
    ) -> tuple[set[int], set[str]]:
        """Return the identities of all items that roots and names lead to, and their `words`."""
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
        """Return null pointers to the classes of namespaces among items, as code writes them."""
        found = []
        for item in top(self.items):
            is_whole = item.kind == "class" and item.body and not (item.templates or item.scope)
            key = item.words & {"class", "struct", "union"} if id(item) in kept else ()
            if is_whole and key and "enum" not in item.words:
                if item.name in item.words:  # a function may have that name, too
                    found.append(f"static_cast<{key.pop()} {item.qualified}*>(nullptr)")
                elif "typedef" in item.words:
                    found.append(f"static_cast<{item.qualified}*>(nullptr)")
        return found

    def replace(self, first: int, end: int, text: str = "") -> None:
        """Put a text in the place of some tokens."""
        self.edits.append((self.tokens.starts[first], self.tokens.ends[end - 1], text))

    def insert(self, place: int, text: str) -> None:
        """Put a text at a place."""
        self.edits.append((place, place, text))

    def edited(self) -> str:
        """Return the text with its edits; of those that overlap, the first and longest counts.

        What is put between two tokens comes before what replaces the second.
        """
        source, pieces, at = self.source, [], 0
        for start, end, text in sorted(self.edits, key=lambda x: (x[0], x[1] > x[0], -x[1])):
            if start >= at:
                pieces += [source[at:start], text, _line_ends(source[start:end], text)]
                at = end
        return "".join([*pieces, source[at:]])


def _line_ends(before: str, now: str) -> str:
    """Return what goes behind a text so that the lines after it stay those of their file."""
    mark = next(reversed([*re.finditer(r"^#line (\d+) (.*)\n", before, re.MULTILINE)]), None)
    if mark is None:
        return "\n" * (before.count("\n") - now.count("\n"))
    return f"\n#line {int(mark[1]) + before.count(chr(10), mark.end())} {mark[2]}\n"
