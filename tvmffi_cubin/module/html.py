"""What notebooks show of functions: what their kernels use, as a table."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import CubinError
from ..kernels.demangle import demangle

if TYPE_CHECKING:
    from .function import Function
    from .module import Module

_HEADINGS = (
    *("function", "kernel", "registers", "shared memory", "local memory"),
    *("threads of a block", "occupancy"),
)


def table(module: Module, names: tuple[str, ...]) -> str:
    """Return a row for each kernel that some functions launch, as HTML."""
    rows = [row for name in names for row in _rows(module, module.get_function(name))]
    lines = [_line("th", _HEADINGS), *(_line("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _rows(module: Module, function: Function) -> Iterator[tuple[str, ...]]:
    kernels = {(name, x.name): x for name, image in module.cubins.items() for x in image.kernels}
    for place in function._kernels:
        kernel = kernels[place]
        try:
            found = function.occupancy(kernel=kernel.name if len(function._kernels) > 1 else None)
            occupancy = f"{found.fraction:.0%} of {found.threads} threads a block"
        except (CubinError, TypeError, ValueError):  # no GPU, or the shape is the caller's
            occupancy = ""
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
