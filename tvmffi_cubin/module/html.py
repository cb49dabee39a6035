"""What notebooks show of functions: what their kernels use, as a table."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..errors import CubinError
from ..kernels.demangle import demangle

if TYPE_CHECKING:
    from .function import Function

_HEADINGS = (
    *("function", "kernel", "registers", "shared memory", "local memory (with spills)"),
    *("threads of a block", "occupancy"),
)


def table(functions: Iterable[Function]) -> str:
    """Return a row for each kernel that some functions launch, as HTML."""
    lines = [_line("th", _HEADINGS)]
    lines += [_line("td", row) for function in functions for row in _rows(function)]
    return f"<table>{''.join(lines)}</table>"


def _rows(function: Function) -> Iterator[tuple[str, ...]]:
    try:
        found = function.occupancy()
        occupancy = f"{found.fraction:.0%} of {found.threads} threads a block"
    except (CubinError, TypeError, ValueError):  # no GPU, or the shape is the caller's
        occupancy = ""
    images = function._module.cubins.items()
    kernels = {(name, x.name): x for name, image in images for x in image.kernels}
    for place in function._kernels:
        if (kernel := kernels.get(place)) is None:  # its image lies in a file
            continue
        yield (
            function.name,
            demangle(kernel.name),
            str(kernel.registers),
            f"{kernel.static_smem_bytes} B",
            f"{kernel.local_bytes} B",
            str(kernel.max_threads),
            occupancy,
        )


def _line(tag: str, cells: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(x)}</{tag}>' for x in cells)}</tr>"
