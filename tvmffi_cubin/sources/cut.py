"""What both sides of a cut share: items by name, what is reached from where, edits of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from .declarations import Item, read_items
from .tokens import Tokens


class Edit(NamedTuple):
    """A stretch of a text, and what stands there instead; its line ends stay."""

    start: int
    end: int
    text: str


class Parameter(NamedTuple):
    """A parameter of a function or a template.

    Attributes
    ----------
    name : str
        Empty where it has none.
    first, end : int
        Its tokens.
    place : int
        Where in the text a name goes, if it has none.
    is_pack : bool
        Whether it is a pack.
    """

    name: str
    first: int
    end: int
    place: int
    is_pack: bool


_TYPES = frozenset(
    (
        *("void", "bool", "char", "short", "int", "long", "float", "double", "signed"),
        *("unsigned", "const", "volatile", "auto", "size_t", "__restrict__", "__restrict"),
        *("typename", "class", "struct", "union", "enum"),
    )
)


class Text:
    """A preprocessed text and its items."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = Tokens(source)
        self.items = read_items(self.tokens)
        self.by_name: dict[str, list[Item]] = {}
        for item in self.top():
            names = {*item.names, *item.scope.split("::")} - {""}
            if item.name == "operator":
                names |= self.head(item)  # found by what it takes, as it is used without its name
            for name in names:
                self.by_name.setdefault(name, []).append(item)

    def walk(self) -> Iterator[Item]:
        """Iterate over all items."""
        for item in self.items:
            yield from item.walk()

    def top(self) -> Iterator[Item]:
        """Iterate over what is declared in namespaces."""
        pending = [*self.items]
        while pending:
            item = pending.pop(0)
            if item.kind == "namespace":
                pending = [*item.children, *pending]
            elif item.kind != "line":
                yield item

    def head(self, item: Item) -> set[str]:
        """Return the words of an item without its body."""
        return self.tokens.words(item.first, self.head_end(item))

    def head_end(self, item: Item) -> int:
        """Return the number of the token where a function's body or initialisers begin."""
        if item.body is None:
            return item.end
        return item.initialisers if item.initialisers is not None else item.body[0]

    def reached(
        self, roots: Iterable[Item], words: Callable[[Item], set[str]], names: Iterable[str] = ()
    ) -> set[int]:
        """Return the identities of all items that some roots name, directly or not."""
        found: dict[int, Item] = {}
        seen: set[str] = set()
        pending: list[Item] = []

        def add(item: Item) -> None:
            if id(item) not in found:
                found[id(item)] = item
                pending.append(item)

        def add_named(more: Iterable[str]) -> None:
            for name in more:
                if name not in seen:
                    seen.add(name)
                    for item in self.by_name.get(name, ()):
                        add(item)

        for item in roots:
            add(item)
        add_named(names)
        while pending:
            add_named(words(pending.pop()))
        return {*found}

    def edit_of(self, first: int, end: int, text: str = "") -> Edit:
        """Return the edit that puts a text in the place of some tokens."""
        tokens = self.tokens
        return Edit(tokens.starts[first], tokens.ends[end - 1], text)

    def parameters(self, brackets: tuple[int, int]) -> list[Parameter]:
        """Return the parameters between two brackets."""
        tokens, texts = self.tokens, self.tokens.texts
        groups: list[list[int]] = [[]]
        at, end = brackets[0] + 1, brackets[1]
        while at < end:
            text = texts[at]
            last = at
            if text in ("(", "[", "{", "[["):
                last = tokens.close(at)
            elif text == "<" and tokens.kinds[at - 1] == "word":
                close = tokens.angle(at, end)
                last = close if close > 0 else at
            if text == ",":
                groups.append([])
            elif tokens.kinds[at] != "line":
                groups[-1] += range(at, last + 1)
            at = last + 1
        found = [self._parameter(group) for group in groups if group]
        return [x for x in found if not (x.end - x.first == 1 and texts[x.first] == "void")]

    def _parameter(self, group: list[int]) -> Parameter:
        tokens, texts = self.tokens, self.tokens.texts
        first, end = group[0], group[-1] + 1
        equals = next((i for i in group if texts[i] == "="), None)
        own = [i for i in group if equals is None or i < equals]
        skipped: set[int] = set()
        for i in own:
            if texts[i] == "__attribute__" and i + 1 in own:
                skipped.update(range(i, tokens.close(i + 1) + 1))
        own = [i for i in own if i not in skipped]
        is_pack = any(texts[i] == "." for i in own)
        bounds = next((i for i in own if texts[i] == "[" and i != own[0]), None)
        if own and texts[own[-1]] == ")":  # int (&x)[3], void (*f)(int)
            inner = [i for i in own if tokens.kinds[i] == "word" and texts[i - 1] in ("*", "&")]
            name = texts[inner[0]] if inner else ""
            place = tokens.ends[own[-1]]
            return Parameter(name, first, end, place, is_pack)
        plain = [i for i in own if bounds is None or i < bounds]
        if plain and texts[plain[-1]] == ")":  # of an array, as above
            inner = [i for i in plain if tokens.kinds[i] == "word" and texts[i - 1] in ("*", "&")]
            return Parameter(texts[inner[0]] if inner else "", first, end, 0, is_pack)
        last = plain[-1] if plain else first
        is_name = tokens.kinds[last] == "word" and texts[last] not in _TYPES
        is_name = is_name and texts[last - 1] != "::" and len(plain) > 1
        name = texts[last] if is_name else ""
        return Parameter(name, first, end, tokens.ends[last], is_pack)


def applied(source: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits; of those that overlap, the first and longest counts.

    What is put between two tokens comes before what replaces the second.
    """
    pieces: list[str] = []
    at = 0
    in_order = sorted(edits, key=lambda edit: (edit.start, edit.end > edit.start, -edit.end))
    for start, end, text in in_order:
        if start < at:
            continue
        lines = source.count("\n", start, end) - text.count("\n")
        pieces += [source[at:start], text, "\n" * lines]
        at = end
    return "".join([*pieces, source[at:]])
