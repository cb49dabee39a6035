"""Names and values in the declarations of a CUDA source text."""

from __future__ import annotations

from .cuda_brackets import Tokens
from .cuda_class import CALLS
from .cuda_lex import is_name
from .cuda_macros import SPECIFIERS

__all__ = [
    "bracketed_name",
    "declared",
    "has_function",
    "is_value",
    "more_names",
    "points_to_member",
]

# They begin a value, never a parameter.
_VALUES_TEXT = "true false nullptr sizeof static_cast reinterpret_cast this new - + ! ~ & * {"
_VALUES = frozenset(_VALUES_TEXT.split())


def declared(words: list[str], first: int, last: int, operator: str) -> list[str]:
    """Return the name at an index, or an operator's, behind the names of what it is in."""
    name = operator or words[last]
    at = last - 1
    if at >= 0 and words[at] == "~":
        name, at = "~" + name, at - 1
    names = [name]
    while at > first and words[at] == "::":
        at -= 1
        if words[at] == ">":
            at = _before_angle(words, first, at)
        if not is_name(words[at]):
            break
        names.insert(0, words[at])
        at -= 1
    return names


def _before_angle(words: list[str], first: int, at: int) -> int:
    depth = 0
    while at > first:
        depth += (words[at] == ">") - (words[at] == "<")
        at -= 1
        if not depth:
            break
    return at


def has_function(tokens: Tokens, index: int, limit: int) -> bool:
    """Whether a function's name and parameters come behind an index, before anything else."""
    words = tokens.words
    while index + 1 < limit and words[index] not in "{;=:}":
        if words[index + 1] == "(" and is_name(words[index]) and words[index] not in CALLS:
            return True
        if words[index] in "([":
            index = max(tokens.match[index], index)
        index += 1
    return False


def is_value(inner: list[str]) -> bool:
    """Whether what is in brackets behind a name is a variable's value, not parameters."""
    if not inner:
        return False
    first = inner[0]
    if first in _VALUES or first[0] in "\"'" or first[0].isdigit() or first[-1] in "\"'":
        return True
    outer = _outside_brackets(inner)
    if any(word in outer for word in (".", "->", "+", "/", "%", "==")) and "<" not in outer:
        return True
    names = inner[::2]
    return all(word == "," for word in inner[1::2]) and all(
        word.isupper() and len(word) > 1 for word in names
    )


def _outside_brackets(words: list[str]) -> list[str]:
    depth = 0
    outside = []
    for word in words:
        depth -= word in (")", "]", "}")
        if not depth:
            outside.append(word)
        depth += word in ("(", "[", "{")
    return outside


def more_names(tokens: Tokens, index: int, limit: int) -> tuple[list[str], int]:
    """Return what a declaration declares behind an index, and the index behind its end."""
    words, match = tokens.words, tokens.match
    names: list[str] = []
    while index < limit and words[index] != ";":
        word = words[index]
        if word in "([{":
            index = max(match[index], index)
        elif word == "}":
            return names, index
        elif word == "<":
            closer = tokens.angle(index, limit)
            if closer > 0 and words[closer + 1 : closer + 2] in (["("], ["{"], ["::"]):
                index = closer
        elif word == ",":
            at = index + 1
            while at < limit and words[at] in ("*", "&", "const", "__restrict__"):
                at += 1
            if at + 1 < limit and is_name(words[at]) and words[at + 1] in "=,;[({:":
                names.append(words[at])
        index += 1
    return names, index + 1


def bracketed_name(tokens: Tokens, opener: int) -> int:
    """Return the index of the name in brackets such as of ``(*f)``; -1: there is none."""
    words = tokens.words
    for index in range(opener + 1, tokens.match[opener]):
        word = words[index]
        if is_name(word) and words[index + 1] != "::" and word not in SPECIFIERS:
            return index
    return -1


def points_to_member(words: list[str], index: int) -> bool:
    """Whether ``A::B::*`` begins at an index."""
    first = index
    while is_name(words[index]) and words[index + 1] == "::":
        index += 2
    return index > first and words[index] == "*"
