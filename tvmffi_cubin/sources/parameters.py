"""`Parameter`: what a function or a template takes, as its text has it."""

from __future__ import annotations

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
_ATTRIBUTES = ("__attribute__", "alignas", "__align__")
_NO_TYPES = ("__restrict__", "__restrict", "__grid_constant__", "__extension__", *_ATTRIBUTES)


def parameters(tokens: Tokens, brackets: tuple[int, int]) -> list[Parameter]:
    """Return the parameters between two brackets."""
    texts = tokens.texts
    groups: list[list[range]] = [[]]  # of tokens, those in brackets together
    at, end = brackets[0] + 1, brackets[1]
    while at < end:
        last = at
        if texts[at] in ("(", "[", "{", "[["):
            last = min(tokens.close(at), end - 1)
        elif texts[at] == "<" and tokens.kinds[at - 1] == "word":
            last = max(tokens.angle(at, end), at)
        if texts[at] == ",":
            groups.append([])
        elif tokens.kinds[at] != "line":
            groups[-1].append(range(at, last + 1))
        at = last + 1
    is_template = texts[brackets[0]] == "<"
    found = [_parameter(tokens, group, is_template) for group in groups if group]
    return [] if [(x.name, x.type_text) for x in found] == [("", "void")] else found


def _parameter(tokens: Tokens, pieces: list[range], is_template: bool) -> Parameter:
    texts, kinds = tokens.texts, tokens.kinds
    starts = [texts[piece.start] for piece in pieces]
    own: list[int] = []
    plain: list[int] = []  # before the bounds of an array
    has_bounds = False
    for piece, text in zip(pieces, starts[: [*starts, "="].index("=")], strict=False):
        if text in (*_NO_TYPES, "[[") or (text == "(" and texts[piece.start - 1] in _ATTRIBUTES):
            continue
        has_bounds = has_bounds or (text == "[" and bool(own))
        own += piece
        plain += () if has_bounds else piece
    is_pack = any(texts[i] == "." for i in own)
    own = [i for i in own if texts[i] != "."]
    plain = [i for i in plain if texts[i] != "."] or [pieces[0].start]
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
    first, end = pieces[0].start, pieces[-1].stop
    return Parameter(texts[name] if name >= 0 else "", type_text, is_pack, first, end, place)
