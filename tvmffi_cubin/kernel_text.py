"""`find_kernels`: the kernels of a CUDA source and where in its text they stand."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from .scan import scan
from .source_facts import KernelFact
from .source_text import code_alone, prepare

__all__ = ["KernelText", "find_kernels"]

_LONGEST_NAME = 4096
_PARENTHESIS = re.compile(r"[()]")
# What ends a declaration, or begins another body.
_ENDS = re.compile(r"[;{}]")


@dataclass(frozen=True)
class KernelText:
    """A kernel as a source writes it: defined, declared, or an instance of a template.

    Positions are offsets in the source, such as ``source[k.params_start : k.params_end]``.

    Attributes
    ----------
    name : str
        With namespaces; of an explicit instantiation or specialisation with its arguments.
    params : tuple of (str, str)
        Each parameter's type and name as written, the name empty where there is none.
    line : int
        Where the name stands, from 1.
    is_template : bool
        Whether it is a template, instances aside.
    params_start, params_end : int
        What stands between the parentheses of the parameters.
    body_start : int or None
        Behind the brace that opens the body; None where it has none.
    """

    name: str
    params: tuple[tuple[str, str], ...]
    line: int
    is_template: bool
    params_start: int
    params_end: int
    body_start: int | None


def find_kernels(source: str) -> tuple[KernelText, ...]:
    """Return the kernels in a CUDA source, in order: for tools that change its text.

    Branches that NVRTC never sees are no part of the source. Of ``#if`` and its kind with another
    condition all branches are.

    Parameters
    ----------
    source : str
        CUDA C++ source text.

    Raises
    ------
    TypeError
        `source` is no str.
    ValueError
        A kernel's place cannot be told: a macro spells its declaration, or the text cannot be
        parsed. The message names kernel and line.
    """
    if not isinstance(source, str):
        raise TypeError(
            f"find_kernels takes the text of a source, a str, got {type(source).__name__}: read a "
            "file with pathlib.Path(...).read_text()"
        )
    places = _Places(source)
    return tuple(_kernel_text(places, kernel) for kernel in scan(source).kernels)


class _Places:
    """Offsets in the prepared text and in the source's code, which have the same lines."""

    def __init__(self, source: str) -> None:
        self.code = code_alone(source)
        # Not `splitlines`, for which form feeds end lines too.
        self.lines = [f"{line}\n" for line in self.code.split("\n")]
        self.prepared = [f"{line}\n" for line in prepare(source).text.split("\n")]
        self.starts = [0, *accumulate(map(len, self.lines))]
        self.prepared_starts = [0, *accumulate(map(len, self.prepared))]

    def behind(self, offset: int) -> int | None:
        """Return an offset in the source; None where what is before it is not the source's."""
        line = bisect_right(self.prepared_starts, offset - 1) - 1
        own, other = self.lines[line], self.prepared[line]
        column = offset - self.prepared_starts[line]
        # A macro that was expanded has moved what is behind it.
        from_end = len(own.rstrip()) - len(other.rstrip()) + column
        for place in (column, from_end):
            if 0 < place <= len(own) and own[place - 1] == other[column - 1]:
                return self.starts[line] + place
        return None

    def are_of(self, name: str, start: int, end: int, body: int | None) -> bool:
        """Whether a kernel's parameters and body are there; characters that look so may not be."""
        before = "".join(self.code[max(0, start - 1 - _LONGEST_NAME) : start - 1].split())
        depth, least = 0, 0
        for bracket in _PARENTHESIS.findall(self.code, start, end):
            depth += 1 if bracket == "(" else -1
            least = min(least, depth)
        # Without a body it ends with a semicolon.
        last = body - 1 if body is not None else self.code.find(";", end)
        between = self.code[end + 1 : last]
        is_named = before.endswith("".join(name.split()))
        return is_named and depth == least == 0 and not _ENDS.search(between)


def _kernel_text(places: _Places, kernel: KernelFact) -> KernelText:
    found = _found(places, kernel)
    if kernel.params is None or found is None:
        raise ValueError(
            f"line {kernel.line}: the declaration of kernel {kernel.qualified!r} is spelled by a "
            "macro, or cannot be parsed: write it out"
        )
    start, end, body = found
    return KernelText(
        name=kernel.qualified,
        params=tuple((param.type_text, param.name) for param in kernel.params),
        line=kernel.line,
        is_template=kernel.template_params is not None,
        params_start=start,
        params_end=end,
        body_start=body,
    )


def _found(places: _Places, kernel: KernelFact) -> tuple[int, int, int | None] | None:
    """Return where parameters and body are in the source; None where a macro has them."""
    if kernel.span is None:
        return None
    start, end, body = kernel.span
    first, last = places.behind(start), places.behind(end + 1)
    opened = places.behind(body) if body is not None else None
    if first is None or last is None or (opened is None) != (body is None):
        return None
    place = (first, last - 1, opened)
    return place if first < last and places.are_of(kernel.name, *place) else None
