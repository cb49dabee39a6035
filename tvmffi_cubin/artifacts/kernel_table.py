"""`kernel_table`: kernels and what they use, a line each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..kernels.cubin import Kernel
from ..kernels.demangle import function_name

_HEAD = ("kernel", "registers", "shared", "local", "max threads", "parameters")


def kernel_table(kernels: Iterable[Kernel], *, params: Mapping[str, str] | None = None) -> str:
    """Return a table of kernels, with the parameters of some by their symbols, as text.

    By default these are what the image tells: types where the symbol has them, else sizes.
    """
    rows = [_HEAD, *(_row(kernel, (params or {}).get(kernel.name)) for kernel in kernels)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _row(kernel: Kernel, params: str | None) -> tuple[str, ...]:
    name = function_name(kernel.name)
    if params is None:
        sizes = ", ".join(str(param.size) for param in kernel.params)
        params = f"{sizes} bytes" if name.params is None and sizes else ", ".join(name.params or ())
    block = kernel.required_block
    uses = (str(kernel.registers), f"{kernel.static_smem_bytes} B", f"{kernel.local_bytes} B")
    return (
        name.display,
        # Of PTX it is not known: the driver decides when it compiles.
        *(uses if kernel.registers else ("-", "-", "-")),
        str(kernel.max_threads) if block is None else "x".join(map(str, block)) + " exactly",
        params or "none",
    )
