"""The heads of classes and enums in a CUDA source text."""

from __future__ import annotations

from typing import NamedTuple

from .cuda_brackets import Tokens
from .cuda_lex import is_name

__all__ = ["CALLS", "CLASS_KEYS", "ClassHead", "class_head", "enumerators"]

CLASS_KEYS = frozenset(("class", "struct", "union", "enum"))
"""Words that begin them."""

_CALLS_TEXT = """
    alignas __align__ __launch_bounds__ __cluster_dims__ __attribute__ __declspec decltype
    typeof __typeof__ explicit noexcept __maxnreg__ __block_size__ _Pragma throw requires
    __builtin_align__ __nv_pure__
"""
CALLS = frozenset(_CALLS_TEXT.split())
"""Words that brackets follow which are no parameters."""


class ClassHead(NamedTuple):
    """The head of a class or an enum, by indices of tokens."""

    name: str
    opener: int
    """Of what is in its braces; -1: it has none."""
    after: int
    """Behind what names the type, where it has no braces."""
    is_declaration: bool
    """Whether that is all: ``struct A;``."""
    is_enum: bool
    is_scoped: bool


def class_head(tokens: Tokens, index: int, limit: int) -> ClassHead:
    """Read the head that begins with one of `CLASS_KEYS` at an index."""
    words, match = tokens.words, tokens.match
    is_enum = words[index] == "enum"
    at = index + 1
    is_scoped = is_enum and at < limit and words[at] in ("class", "struct")
    at += is_scoped
    names: list[int] = []
    after = at
    while at < limit:
        word = words[at]
        if word == "(" and (words[at - 1] in CALLS or names[-1:] == [at - 1]):
            if names[-1:] == [at - 1] and words[match[at] + 1 : match[at] + 2] == [";"]:
                break  # of a function, or a variable's value
            names = names if words[at - 1] in CALLS else names[:-1]
            at = max(match[at], at)
        elif word == "[" and words[at + 1 : at + 2] == ["["]:
            at = max(match[at], at)
        elif word == "<":
            at = max(tokens.angle(at, limit), at)
            after = at + 1 if len(names) == 1 else after
        elif is_name(word) and word != "operator":
            if word not in CALLS and not (word == "final" and names):
                names.append(at)
                scoped = words[at - 1] == "::" and after == at
                after = at + 1 if len(names) == 1 or scoped else after
        elif word == "::":
            after = at + 1 if after == at else after
        else:
            break
        at += 1
    word = words[at] if at < limit else ";"
    if word == ":":
        while at < limit and words[at] not in "{;":
            if words[at] in "([":
                at = max(match[at], at)
            elif words[at] == "<":
                at = max(tokens.angle(at, limit), at)
            at += 1
        word = words[at] if at < limit else ";"
    name = words[names[-1]] if names else ""
    opener = at if word == "{" and match[at] > at else -1
    scopes = sum(words[one - 1] == "::" for one in names)
    alone = len(names) - scopes <= 1 or is_enum
    return ClassHead(name, opener, after, word == ";" and alone, is_enum, is_scoped)


def enumerators(tokens: Tokens, opener: int) -> list[str]:
    """Return the names in the braces of an enum."""
    words, match = tokens.words, tokens.match
    names = []
    is_expected = True
    index = opener + 1
    while index < match[opener]:
        word = words[index]
        if word in "([{":
            index = max(match[index], index)
        elif word == ",":
            is_expected = True
        elif is_expected and is_name(word):
            names.append(word)
            is_expected = False
        index += 1
    return names
