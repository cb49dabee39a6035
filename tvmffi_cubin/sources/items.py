"""`Item`: a declaration of a text; `Parameter`: a parameter of a function or a template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .tokens import Tokens

_QUALIFIERS = frozenset(("const", "volatile", "class", "struct", "union", "enum", "typename"))
_TYPES = _QUALIFIERS | {
    *("void", "bool", "char", "short", "int", "long", "float", "double", "signed"),
    *("unsigned", "auto", "size_t", "wchar_t", "__restrict__", "__restrict"),
}
_ATTRIBUTES = ("__attribute__", "alignas", "__align__")
_NO_TYPES = ("__restrict__", "__restrict", "__grid_constant__", "__extension__", *_ATTRIBUTES, "[[")


class Item:
    """A declaration.

    Its kind is ``"namespace"``, ``"class"`` (or an enumeration), ``"function"``, ``"variable"``,
    ``"alias"``, ``"using"``, ``"using namespace"``, ``"instance"`` (an explicit instantiation) or
    ``"other"``. Positions are token numbers; pairs are those of brackets.
    """

    def __init__(self, kind: str, first: int, parent: Item | None) -> None:
        self.kind = kind
        self.first, self.end = first, first + 1
        self.head = first  # after `template <...>`
        self.names: list[str] = []  # what it declares
        self.words: set[str] = set()  # before its declarator, including CUDA's qualifiers
        self.templates: list[tuple[int, int]] = []
        self.params: tuple[int, int] | None = None
        self.body: tuple[int, int] | None = None  # of a function or a class
        self.arguments = ""  # after a specialized function's name
        self.initialisers: int | None = None  # the colon of a constructor's initializer list
        self.equals: int | None = None  # of a value, or of `= default`
        self.scope = ""  # before the name of a member that is defined outside its class
        self.children: list[Item] = []
        self.parent = parent

    @property
    def name(self) -> str:
        """The first name that it declares; empty if there is none."""
        return self.names[0] if self.names else ""

    @property
    def is_member(self) -> bool:
        """Whether it is in a class."""
        return self.parent is not None and self.parent.kind == "class"

    @property
    def is_template(self) -> bool:
        """Whether it is a template; a specialization, which begins with ``template <>``, is not."""
        return any(close > opening + 1 for opening, close in self.templates)

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel, defined or declared."""
        return "__global__" in self.words and self.params is not None

    @property
    def is_constexpr(self) -> bool:
        """Whether it is a function that both sides may call."""
        return "constexpr" in self.words or "consteval" in self.words

    @property
    def is_for_device(self) -> bool:
        """Whether it is a function for device code, though maybe not for it alone."""
        return bool(self.words & {"__device__", "__global__"}) or self.is_constexpr

    @property
    def is_device_only(self) -> bool:
        """Whether it is a function that host code cannot call."""
        return "__device__" in self.words and "__host__" not in self.words and not self.is_constexpr

    @property
    def is_device_variable(self) -> bool:
        """Whether it is a variable in device memory."""
        return self.kind == "variable" and bool(
            self.words & {"__device__", "__constant__", "__managed__"}
        )

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The names of the enclosing scopes, outermost first; "" for unnamed ones."""
        if self.parent is None:
            return ()
        own = () if "extern" in self.parent.words else self.parent.names or ("",)
        return (*self.parent.namespaces, *own)

    @property
    def qualified(self) -> str:
        """Its name as code at global scope would write it."""
        return self.qualify(self.name)

    def qualify(self, name: str) -> str:
        """Return a name that it declares as code at global scope would write it."""
        return "::".join(filter(None, (*self.namespaces, self.scope, name)))


def walk(items: Iterable[Item]) -> Iterator[Item]:
    """Iterate over items and everything in them."""
    for item in items:
        yield item
        yield from walk(item.children)


def top(items: Iterable[Item]) -> Iterator[Item]:
    """Iterate over what is declared in namespaces."""
    for item in items:
        if item.kind == "namespace":
            yield from top(item.children)
        else:
            yield item


class Parameter(NamedTuple):
    """A parameter of a function or a template."""

    name: str  # empty if it has none
    type_text: str  # without the name, attributes and any default value
    pack: bool  # whether it stands for any number of parameters
    end: int  # the number of the token after it
    place: int  # the position in the text for a name, if it has none


def parameters(tokens: Tokens, brackets: tuple[int, int]) -> list[Parameter]:
    """Return the parameters between two brackets."""
    groups: list[list[int]] = [[]]  # of tokens
    for at in tokens.outside(brackets[0] + 1, brackets[1]):
        if tokens.texts[at] == ",":
            groups.append([])
        else:
            groups[-1].append(at)
    is_template = tokens.texts[brackets[0]] == "<"
    found = [_parameter(tokens, group, is_template) for group in groups if group]
    return [] if [(x.name, x.type_text) for x in found] == [("", "void")] else found


def _parameter(tokens: Tokens, group: list[int], is_template: bool) -> Parameter:
    texts, kinds = tokens.texts, tokens.kinds
    own: list[int] = []
    bounds: int | None = None  # where an array's bounds begin
    is_pack = False
    for at in group:
        text = texts[at]
        if text == "=":
            break
        is_pack = is_pack or text == "."
        if text in (".", *_NO_TYPES) or (text == "(" and texts[at - 1] in _ATTRIBUTES):
            continue
        if text == "[" and own and bounds is None:
            bounds = len(own)
        own += range(at, tokens.last(at) + 1)
    plain = own[:bounds] or group
    last, name = plain[-1], -1
    if texts[last] == ")":  # int (&x)[3], void (*f)(int)
        name = next((i for i in plain if kinds[i] == "word" and texts[i - 1] in ("*", "&")), -1)
    elif kinds[last] == "word" and texts[last] not in _TYPES and texts[last - 1] != "::":
        is_typed = any(texts[i] not in _QUALIFIERS for i in plain[:-1])
        name = last if is_typed or (is_template and len(plain) > 1) else -1
    return Parameter(
        name=texts[name] if name >= 0 else "",
        type_text=tokens.joined([i for i in own if i != name]),
        pack=is_pack,
        end=tokens.last(group[-1]) + 1,
        place=tokens.ends[last],
    )
