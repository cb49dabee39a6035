"""Kernels and what they use as a table for people, and as JSON values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .kernels.cubin import Kernel
from .kernels.demangle import demangle, take_apart

__all__ = ["kernel_facts", "kernel_table"]

_HEAD = ("kernel", "registers", "shared", "local", "max threads", "parameters")


def kernel_table(kernels: Iterable[Kernel], *, params: Mapping[str, str] | None = None) -> str:
    """Return a table of kernels, one line each, under a line of column names.

    Parameters
    ----------
    kernels : iterable of Kernel
        The kernels.
    params : mapping of str to str, optional
        Symbol to the parameters as text. Default: what the image
        tells: types where the symbol has them, else sizes.
    """
    known = params or {}
    rows = [_row(kernel, known.get(kernel.name)) for kernel in kernels]
    return _aligned([_HEAD, *rows])


def kernel_facts(kernel: Kernel) -> dict[str, Any]:
    """Return what an image says of a kernel as JSON values, the name as people write it too."""
    return {
        **kernel._asdict(),
        "params": [x._asdict() for x in kernel.params],
        "demangled": demangle(kernel.name),
    }


def _row(kernel: Kernel, params: str | None) -> tuple[str, ...]:
    block = kernel.required_block
    threads = str(kernel.max_threads) if block is None else "x".join(map(str, block)) + " exactly"
    name = take_apart(demangle(kernel.name))
    return (
        name.display,
        # Of PTX it is not known: the driver decides when it compiles.
        str(kernel.registers or "-"),
        f"{kernel.static_smem_bytes} B" if kernel.registers else "-",
        f"{kernel.local_bytes} B" if kernel.registers else "-",
        threads,
        _params(kernel, name.params) if params is None else params,
    )


def _params(kernel: Kernel, types: Sequence[str] | None) -> str:
    """Types where the symbol has them, else sizes: all that an image knows of C linkage."""
    if types is not None:
        return ", ".join(types) or "none"
    sizes = ", ".join(str(param.size) for param in kernel.params)
    return f"{sizes} bytes" if sizes else "none"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
