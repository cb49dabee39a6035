"""The parameters of functions and templates in a CUDA source text."""

from __future__ import annotations

from .cuda_brackets import Tokens
from .cuda_item import Param, Span
from .cuda_lex import KEYWORDS, is_name

__all__ = ["function_params", "template_params"]

# They are no types, and behind one no names.
_QUALIFIERS_TEXT = """
    const volatile __restrict__ __restrict restrict __grid_constant__ register typename struct
    class union enum constexpr static mutable __attribute__ alignas __align__ this
"""
_QUALIFIERS = frozenset(_QUALIFIERS_TEXT.split())
_CALLS = frozenset(("__attribute__", "alignas", "__align__", "__declspec"))
# Types that are keywords; a type may be several of them.
_TYPES_TEXT = """
    void bool char char8_t char16_t char32_t short int long signed unsigned float double auto
    decltype __int64 __int128
"""
_TYPES = frozenset(_TYPES_TEXT.split())


def function_params(tokens: Tokens, opener: int) -> tuple[Param, ...]:
    """Return the parameters behind the bracket that opens at an index."""
    closer = tokens.match[opener]
    parts = _parts(tokens, opener + 1, closer)
    if len(parts) == 1 and tokens.words[parts[0][0] : parts[0][1]] in ([], ["void"]):
        return ()
    read = [_function_param(tokens, *part) for part in parts if part[0] < part[1]]
    return tuple(param for param in read if param is not None)


def template_params(tokens: Tokens, opener: int, closer: int) -> tuple[Param, ...]:
    """Return the parameters between the ``<`` and the ``>`` at two indices."""
    parts = _parts(tokens, opener + 1, closer)
    read = [_template_param(tokens, *part) for part in parts if part[0] < part[1]]
    return tuple(param for param in read if param is not None)


def _parts(tokens: Tokens, start: int, end: int) -> list[tuple[int, int]]:
    """Split at the commas that are in no brackets."""
    words = tokens.words
    parts = []
    index = first = start
    is_value = False
    while index < end:
        word = words[index]
        if word == ",":
            parts.append((first, index))
            first = index + 1
            is_value = False
        elif word in "([{" and tokens.match[index] > index:
            index = tokens.match[index]
        elif word == "<" and not (is_value and not is_name(words[index - 1])):
            index = max(tokens.angle(index, end), index)
        elif word == "=":
            is_value = True
        index += 1
    return [*parts, (first, end)]


def _template_param(tokens: Tokens, start: int, end: int) -> Param | None:
    words = tokens.words
    index = start
    if words[index] == "template" and index + 1 < end:
        index = tokens.angle(index + 1, end) + 1
        if not start < index < end:
            return None
    if words[index] not in ("typename", "class"):
        return _function_param(tokens, start, end)
    index += 1
    is_pack = words[index : index + 1] == ["..."] and index < end
    index += is_pack
    name = words[index] if index < end and is_name(words[index]) else ""
    if name and words[index + 1 : index + 2] not in ([], ["="], [","], [">"], ["..."]):
        return _function_param(tokens, start, end)
    span = Span(tokens.starts[start], tokens.end(end - 1))
    at = tokens.starts[index] if name else tokens.end(index - 1)
    return Param(span, name, at, is_pack)


def _function_param(tokens: Tokens, start: int, end: int) -> Param | None:
    words, match = tokens.words, tokens.match
    span = Span(tokens.starts[start], tokens.end(end - 1))
    index = start
    has_type = is_pack = False
    name = at = -1  # indices of the name, and of the token behind which it would have to be
    while index < end:
        word = words[index]
        closer = match[index]
        if word == "=":
            break
        if word == "[" and closer > index:
            if words[index + 1] != "[":
                break  # of an array; others are attributes
            index = closer
        elif word == "(" and closer > index:
            if words[index - 1] == "decltype" or words[index - 1] in _CALLS:
                at = closer if words[index - 1] == "decltype" else at
            elif name < 0 and has_type:
                return _bracketed(tokens, index, span, is_pack)
            else:
                break
            index = closer
        elif word == "<":
            closer = tokens.angle(index, end)
            index = closer if closer > 0 else index
            name, at = -1, index
        elif word == "...":
            is_pack = True
            at = index
        elif is_name(word) and word not in _QUALIFIERS:
            scoped = index > start and words[index - 1] == "::"
            if has_type and not scoped and word not in _TYPES and word not in KEYWORDS:
                name = index
            else:
                name = -1
            has_type = True
            at = index
        else:
            at = index
            name = name if word in _QUALIFIERS else -1
        index += 1
    if words[start:end] == ["..."]:
        return None
    if name >= 0:
        return Param(span, words[name], tokens.starts[name], is_pack)
    return Param(span, "", tokens.end(at) if at >= 0 else span.end, is_pack)


def _bracketed(tokens: Tokens, index: int, span: Span, is_pack: bool) -> Param:
    """Read a parameter whose name is in brackets: ``int (*f)(int)``, ``T (&array)[3]``."""
    words = tokens.words
    at = index
    for inner in range(index + 1, tokens.match[index]):
        word = words[inner]
        if word in "([":
            break
        if word == "...":
            is_pack = True
        elif is_name(word) and words[inner + 1] != "::" and word not in _QUALIFIERS:
            return Param(span, word, tokens.starts[inner], is_pack)
        at = inner
    return Param(span, "", tokens.end(at), is_pack)
