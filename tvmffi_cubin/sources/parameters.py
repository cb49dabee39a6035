"""`Parameter`: what a function or a template takes, as its text has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .tokens import Tokens


class Parameter(NamedTuple):
    """A parameter of a function or a template."""

    name: str  # empty where it has none
    type_text: str  # without the name, attributes and any default value
    pack: bool = False  # it stands for any number of parameters
    first: int = 0  # of its tokens
    end: int = 0
    place: int = 0  # where in the text a name goes, if it has none


_QUALIFIERS = frozenset(("const", "volatile", "class", "struct", "union", "enum", "typename"))
_TYPES = _QUALIFIERS | {
    *("void", "bool", "char", "short", "int", "long", "float", "double", "signed"),
    *("unsigned", "auto", "size_t", "wchar_t", "__restrict__", "__restrict"),
}
_NO_TYPES = frozenset(("__restrict__", "__restrict", "__grid_constant__", "__extension__"))
_ATTRIBUTES = ("__attribute__", "alignas", "__align__")


def parameters(tokens: Tokens, brackets: tuple[int, int]) -> list[Parameter]:
    """Return the parameters between two brackets."""
    texts = tokens.texts
    groups: list[list[int]] = [[]]
    at, end = brackets[0] + 1, brackets[1]
    while at < end:
        last = at
        if texts[at] in ("(", "[", "{", "[["):
            last = min(tokens.close(at), end - 1)
        elif texts[at] == "<" and tokens.kinds[at - 1] == "word":
            close = tokens.angle(at, end)
            last = close if close > 0 else at
        if texts[at] == ",":
            groups.append([])
        elif tokens.kinds[at] != "line":
            groups[-1] += range(at, last + 1)
        at = last + 1
    is_template = texts[brackets[0]] == "<"
    found = [_parameter(tokens, group, is_template) for group in groups if group]
    return [] if [(x.name, x.type_text) for x in found] == [("", "void")] else found


def _parameter(tokens: Tokens, group: list[int], is_template: bool) -> Parameter:
    texts, kinds = tokens.texts, tokens.kinds
    outer = _outside_arguments(tokens, group)
    equals = next((n for n, i in enumerate(group) if texts[i] == "=" and i in outer), len(group))
    own = _without_attributes(tokens, group[:equals])
    is_pack = any(texts[i] == "." for i in own)
    own = [i for i in own if texts[i] != "."]
    bounds = next((n for n, i in enumerate(own) if n and texts[i] == "[" and i in outer), len(own))
    plain = own[:bounds] or group[:1]
    last, name = plain[-1], -1
    place = tokens.ends[own[-1]] if own else 0
    if texts[last] == ")":  # int (&x)[3], void (*f)(int)
        inner = (i for i in plain if kinds[i] == "word" and texts[i - 1] in ("*", "&"))
        name = next(inner, -1)
    else:
        place = tokens.ends[last]
        is_typed = is_template or not all(texts[i] in _QUALIFIERS for i in plain[:-1])
        is_name = kinds[last] == "word" and texts[last] not in _TYPES and texts[last - 1] != "::"
        if is_name and is_typed and len(plain) > 1:
            name = last
    type_text = tokens.joined([i for i in own if i != name])
    return Parameter(
        texts[name] if name >= 0 else "", type_text, is_pack, group[0], group[-1] + 1, place
    )


def _outside_arguments(tokens: Tokens, group: Sequence[int]) -> set[int]:
    """Return the tokens that are in no template arguments."""
    outer: set[int] = set()
    behind = 0
    for number in group:
        if number < behind:
            continue
        outer.add(number)
        if tokens.texts[number] == "<" and tokens.kinds[number - 1] == "word":
            behind = tokens.angle(number, group[-1] + 1)
    return outer


def _without_attributes(tokens: Tokens, group: Sequence[int]) -> list[int]:
    own: list[int] = []
    behind = 0
    for number in group:
        text = tokens.texts[number]
        if number < behind or text in _NO_TYPES:
            continue
        if text in _ATTRIBUTES and tokens.texts[number + 1] == "(":
            behind = tokens.close(number + 1) + 1
        elif text == "[[":
            behind = tokens.close(number) + 1
        else:
            own.append(number)
    return own
