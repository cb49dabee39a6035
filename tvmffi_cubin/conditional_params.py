"""Parameters of kernels that are there under a condition: which these are, and which cannot be."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .cuda_item import Item, Param
from .item_words import code_alone

__all__ = ["MOST", "conditional_params", "is_uncuttable"]

MOST = 16
"""How many of a kernel's parameters may be: see tvmffi_cubin/mixed/absent_params.h."""

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(if|el|endif)\w*", re.MULTILINE)
_LAST = re.compile(r"(\w+)\s*\Z")


def conditional_params(text: str, item: Item) -> tuple[int, ...]:
    """Return the indices of a kernel's parameters that ``#if`` may leave out."""
    params = item.params or ()
    if not params or "#" not in text[item.span.start : item.declarator_end]:
        return ()
    code = code_alone(text[item.span.start : item.declarator_end])
    depths = [(0, 0)]
    for match in _DIRECTIVE.finditer(code):
        step = {"if": 1, "el": 0, "endif": -1}[match[1]]
        depths.append((match.end() + item.span.start, depths[-1][1] + step))

    def depth(at: int) -> int:
        return next(level for start, level in reversed(depths) if start <= at)

    return tuple(
        index
        for index, param in enumerate(params)
        if depth(param.span.start) > 0 and len(_alternatives(text, param)) == 1
    )


def is_uncuttable(text: str, params: Sequence[Param]) -> bool:
    """Whether parameters begin in one branch and end in another, or too many are conditional.

    One that is written in each of the branches, by one name, is one parameter.
    """
    for param in params:
        found = _alternatives(text, param)
        if len(found) == 1:
            continue
        names = {match[1] for match in map(_LAST.search, found) if match is not None}
        if names != {param.name} or not all(map(_LAST.search, found)):
            return True
        words = _DIRECTIVE.findall(code_alone(text[param.span.start : param.span.end]))
        if set(words) != {"el"} or not _has_else(text, param):
            return True
    return False


def _alternatives(text: str, param: Param) -> list[str]:
    """Return what stands between the directives in a parameter."""
    code = code_alone(text[param.span.start : param.span.end])
    lines, found = code.split("\n"), [""]
    for line in lines:
        if _DIRECTIVE.match(line):
            found.append("")
        else:
            found[-1] += line + "\n"
    return found


def _has_else(text: str, param: Param) -> bool:
    code = code_alone(text[param.span.start : param.span.end])
    return re.search(r"^[ \t]*#[ \t]*else\b", code, re.MULTILINE) is not None
