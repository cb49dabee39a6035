"""The launches and the device lambdas in a CUDA source text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .cuda_brackets import Tokens
from .cuda_item import Launch, Span
from .cuda_lex import KEYWORDS, is_name

__all__ = ["Launches", "find_lambdas", "find_launches"]

_JOINED = ("::", ".", "->", "##")
_SPACES = frozenset(("__global__", "__device__", "__host__"))
# A bracket behind these is a condition, which is no part of the expression that follows.
_STATEMENTS = frozenset(("if", "while", "for", "switch"))


class Launches(NamedTuple):
    """The launches of a text."""

    launches: tuple[Launch, ...]
    at: tuple[int, ...]
    """Of each the index of its ``<<<``."""
    halves: tuple[tuple[int, str], ...]
    """Indices of the ``<<<`` of those that are not whole, and what is wrong with them."""


def find_launches(tokens: Tokens) -> Launches:
    """Return the launches of a text, in the order of their ``<<<``.

    Parameters
    ----------
    tokens : Tokens
        Of a text, or of a macro's body.
    """
    words = tokens.words
    found: list[Launch] = []
    at: list[int] = []
    halves: list[tuple[int, str]] = []
    if "<<<" not in words:
        return Launches((), (), ())
    opened = [index for index, word in enumerate(words) if word == "<<<"]
    closers: dict[int, int] = {}
    for index in reversed(opened):
        closers[index] = _config_end(tokens, index + 1, closers)
    for index in opened:
        if index and words[index - 1] == "operator":
            continue
        launch = _launch(tokens, index, closers[index])
        if isinstance(launch, str):
            halves.append((index, launch))
        else:
            found.append(launch)
            at.append(index)
    return Launches(tuple(found), tuple(at), tuple(halves))


def _launch(tokens: Tokens, index: int, closer: int) -> Launch | str:
    first = _callee(tokens, index)
    if first == index:
        return "a launch without a kernel before its <<<"
    if closer < 0:
        return "a launch without >>>"
    words, starts = tokens.words, tokens.starts
    opener = closer + 3
    if opener >= len(words) or words[opener] != "(" or tokens.match[opener] < 0:
        return "a launch without arguments behind its >>>"
    return Launch(
        Span(starts[first], tokens.end(index - 1)),
        Span(tokens.end(index), starts[closer]),
        Span(tokens.end(opener), starts[tokens.match[opener]]),
        tokens.line(first),
    )


def _config_end(tokens: Tokens, index: int, closers: Mapping[int, int]) -> int:
    """Return the index of the first of the three ``>`` that end a configuration, or -1.

    `closers` are those of the launches behind it, by the indices of their ``<<<``.
    """
    words, match, starts = tokens.words, tokens.match, tokens.starts
    less = 0  # what may be the brackets of template arguments, or comparisons
    doubtful = -1
    while index < len(words):
        word = words[index]
        if word in "([{":
            if match[index] < index:
                break
            index = match[index]
        elif word == "<<<":
            if closers[index] < 0:
                break
            index = closers[index] + 2
        elif word in ")]};":
            break
        elif word == "<":
            less += 1
        elif word == ">":
            run = 1
            while words[index + run : index + run + 1] == [">"] and (
                starts[index + run] == starts[index] + run
            ):
                run += 1
            if run >= 3:
                closer = index + run - 3
                if run > 3 or less < 3:
                    return closer
                doubtful = closer
            less = max(0, less - run)
            index += run - 1
        index += 1
    return doubtful


def _callee(tokens: Tokens, index: int) -> int:
    """Return the index of the first token of the expression before a ``<<<``."""
    words, match = tokens.words, tokens.match
    first = index
    while first > 0:
        before = first - 1
        word = words[before]
        if word == ">":
            before = _opening_angle(tokens, before)
            if before <= 0 or not is_name(words[before - 1]):
                return first
            first = before
            continue
        if word in ")]" and 0 <= match[before] < before:
            opener = match[before]
            if opener and words[opener - 1] in _STATEMENTS:
                return first
            first = opener
            if not (first and _is_operand_end(words[first - 1])):
                return first
            continue
        if not _is_operand_end(word):
            return first
        first = before
        while first and words[first - 1] in ("template", "typename"):
            first -= 1
        if not (first and words[first - 1] in _JOINED):
            return first
        joint = words[first - 1]
        first -= 1
        if joint == "::" and not (first and _is_scope(words[first - 1])):
            return first
    return first


def _is_operand_end(word: str) -> bool:
    return word in (")", "]", ">") or (is_name(word) and (word not in KEYWORDS or word == "this"))


def _is_scope(word: str) -> bool:
    return word == ">" or (is_name(word) and word not in KEYWORDS)


def _opening_angle(tokens: Tokens, index: int) -> int:
    """Return the index of the ``<`` that a ``>`` closes, or -1."""
    words, match = tokens.words, tokens.match
    depth = 0
    while index >= 0:
        word = words[index]
        if word == ">":
            depth += 1
        elif word == "<":
            depth -= 1
            if depth == 0:
                return index
        elif word in ")]}":
            if not 0 <= match[index] < index:
                return -1
            index = match[index]
        elif word in "([{;" or word == "<<<":
            return -1
        index -= 1
    return -1


def find_lambdas(
    tokens: Tokens, words_of: Mapping[str, frozenset[str]]
) -> tuple[tuple[int, int, frozenset[str]], ...]:
    """Return index, line and words of each lambda that has execution space words.

    Parameters
    ----------
    tokens : Tokens
        Of a text.
    words_of : mapping of str to frozenset of str
        What macros stand for.
    """
    spaces = {name: words & _SPACES for name, words in words_of.items() if words & _SPACES}
    spaces |= {word: frozenset((word,)) for word in _SPACES}
    words, match = tokens.words, tokens.match
    found: list[tuple[int, int, frozenset[str]]] = []
    if "[" not in words:
        return ()
    previous = -2
    for index, word in enumerate(words):
        if word not in spaces:
            continue
        if index == previous + 1 and found:
            at, line, given = found[-1]
            found[-1] = (at, line, given | spaces[word])
            previous = index
        elif index and words[index - 1] == "]" and _introduces(tokens, match[index - 1]):
            opener = match[index - 1]
            found.append((opener, tokens.line(opener), spaces[word]))
            previous = index
    return tuple(found)


def _introduces(tokens: Tokens, opener: int) -> bool:
    """Whether a ``[`` begins a lambda: it is no subscript's, no array's and no attribute's."""
    if opener < 0 or tokens.words[opener + 1] == "[":
        return False
    return opener == 0 or not _is_operand_end(tokens.words[opener - 1])
