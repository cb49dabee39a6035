"""What comes behind a function's parameters in a CUDA source text, and constraints."""

from __future__ import annotations

from typing import NamedTuple

from .cuda_brackets import Tokens
from .cuda_lex import is_name

__all__ = ["Tail", "constraint_end", "function_end", "statement_end"]

# Another declaration begins: the function was a macro's invocation without a semicolon.
_BEGINNINGS_TEXT = """
    template namespace using typedef static extern inline constexpr public private protected
    class struct union enum friend virtual explicit __global__ __device__ __host__
    static_assert
"""
_BEGINNINGS = frozenset(_BEGINNINGS_TEXT.split())


class Tail(NamedTuple):
    """The end of a function, by indices of tokens."""

    declarator: int
    """The last token before what stands for the body."""
    body: tuple[int, int] | None
    end: int
    """Behind its last token."""
    is_function: bool


def function_end(tokens: Tokens, index: int, limit: int) -> Tail:
    """Return how a function ends whose parameters end before an index."""
    words, match = tokens.words, tokens.match
    typed = False
    while index < limit:
        word = words[index]
        if word == ";":
            return Tail(index - 1, None, index + 1, True)
        if word == "{":
            return _body(tokens, index, index, limit)
        if word == ":":
            return _body(tokens, index, _initialisers_end(tokens, index + 1, limit), limit)
        if word == "try":
            return _try(tokens, index, limit)
        if word in "=,":
            return Tail(index - 1, None, statement_end(tokens, index, limit), True)
        if word == "}" or (word in _BEGINNINGS and not typed):
            return Tail(index - 1, None, index, False)
        if word == "requires":
            index = constraint_end(tokens, index + 1, limit)
            continue
        if word in "([" and match[index] > index:
            index = match[index]
        elif word == "<":
            index = max(tokens.angle(index, limit), index)
        elif word == "->":
            typed = True
        index += 1
    return Tail(limit - 1, None, limit, False)


def statement_end(tokens: Tokens, index: int, limit: int) -> int:
    """Return the index behind the next semicolon that is in no brackets."""
    words, match = tokens.words, tokens.match
    while index < limit:
        word = words[index]
        if word == ";":
            return index + 1
        if word in "([{":
            index = max(match[index], index)
        elif word == "}":
            return index
        index += 1
    return limit


def constraint_end(tokens: Tokens, index: int, limit: int) -> int:
    """Return the index behind the constraint that begins at an index, behind ``requires``."""
    words, match = tokens.words, tokens.match
    while index < limit:
        while index < limit and words[index] == "!":
            index += 1
        if index < limit and words[index] == "requires":
            index += 1
            if words[index : index + 1] == ["("]:
                index = max(match[index], index) + 1
            if words[index : index + 1] == ["{"]:
                index = max(match[index], index) + 1
        elif index < limit and words[index] == "(":
            index = max(match[index], index) + 1
        else:
            index = _qualified_end(tokens, index, limit)
        if index >= limit or words[index] not in ("&&", "||", "and", "or"):
            return index
        index += 1
    return limit


def _qualified_end(tokens: Tokens, index: int, limit: int) -> int:
    words = tokens.words
    expects_name = True
    while index < limit:
        word = words[index]
        if word == "::":
            expects_name = True
        elif word == "<":
            closer = tokens.angle(index, limit)
            if closer < 0:
                return index
            index = closer
            expects_name = False
        elif expects_name and (is_name(word) or word[0].isdigit()):
            expects_name = False
        else:
            return index
        index += 1
    return index


def _body(tokens: Tokens, before: int, index: int, limit: int) -> Tail:
    closer = tokens.match[index] if index < limit and tokens.words[index] == "{" else -1
    if closer < 0:
        return Tail(before - 1, None, min(index + 1, limit), False)
    return Tail(before - 1, (index, closer), closer + 1, True)


def _initialisers_end(tokens: Tokens, index: int, limit: int) -> int:
    """Return the index of the body behind member initialisers."""
    words, match = tokens.words, tokens.match
    while index < limit:
        while index < limit and words[index] not in ("(", "{", ";", "}"):
            if words[index] == "<":
                index = max(tokens.angle(index, limit), index)
            index += 1
        if index >= limit or words[index] in ";}" or match[index] < index:
            return limit
        index = match[index] + 1
        if words[index : index + 1] == ["..."]:
            index += 1
        # Behind a colon is the list of another branch of a condition.
        if words[index : index + 1] not in ([","], [":"]):
            return index
        index += 1
    return limit


def _try(tokens: Tokens, index: int, limit: int) -> Tail:
    words, match = tokens.words, tokens.match
    at = index + 1
    if words[at : at + 1] == [":"]:
        at = _initialisers_end(tokens, at + 1, limit)
    tail = _body(tokens, index, at, limit)
    if tail.body is None:
        return tail
    last = tail.body[1]
    while words[last + 1 : last + 3] == ["catch", "("]:
        opener = match[last + 2] + 1
        if match[last + 2] < 0 or words[opener : opener + 1] != ["{"] or match[opener] < 0:
            break
        last = match[opener]
    return Tail(tail.declarator, (index, last), last + 1, True)
