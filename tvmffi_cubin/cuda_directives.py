"""Preprocessor directives where nothing can be cut: within a kernel's head, within a launch."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from .conditional_params import MOST, is_uncuttable
from .cuda_brackets import Tokens
from .cuda_condition import known
from .cuda_declared import Declaration
from .cuda_item import Launch

__all__ = ["conditionals", "head_problem", "launch_problems"]

_Group = tuple[int, int]


def conditionals(tokens: Tokens) -> tuple[_Group, ...]:
    """Return the tokens between which conditionals begin and end that only a compiler decides."""
    found = []
    open_ones: list[tuple[int, bool]] = []
    for one in tokens.conditionals:
        if one.name in ("if", "ifdef", "ifndef"):
            open_ones.append((one.before, known(one.name, one.rest) is None))
        elif one.name == "endif" and open_ones:
            first, is_open = open_ones.pop()
            found += [(first, one.before)] if is_open else []
    return tuple(sorted(found))


def head_problem(tokens: Tokens, found: Declaration, groups: Sequence[_Group]) -> str:
    """Return why a kernel cannot be cut whose parameters depend on a conditional; else nothing."""
    if "__global__" not in found.words or found.body is None or found.opener < 0:
        return ""
    first, body = found.opener + 1, found.body[0]
    # One may end right behind the bracket: of alternatives before it.
    # Or in the body: of alternatives that begin it, too.
    end = tokens.match[body]
    met = [(x, y) for x, y in groups if first <= x <= body or (x <= body and first < y <= end)]
    last, params = tokens.match[found.opener], found.params or ()
    # A condition about whole parameters is C++'s affair.
    if all(first <= start and end <= last for start, end in met) and len(params) <= MOST:
        if not met or not is_uncuttable(tokens.lexed.text, params):
            return ""
    elif not met:
        return ""
    return (
        f"the parameters of the kernel {found.names[-1]} depend on an #if: put the whole kernel "
        "into each of its branches"
    )


def launch_problems(tokens: Tokens, launches: Iterable[Launch]) -> Iterator[tuple[int, str]]:
    """Find launches with directives before their arguments; yield lines and what is wrong."""
    starts = [one.start for one in tokens.lexed.directives]
    for launch in launches:
        if bisect_left(starts, launch.callee.start) < bisect_left(starts, launch.config.end):
            yield launch.line, "there is a directive within a launch, before its arguments"
