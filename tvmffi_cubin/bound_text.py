"""Text of the tables of what is bound: a slot for each name that a function has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .c_text import c_string, template
from .dispatched import Dispatched
from .exported import Exported
from .function import BoundParam, Function
from .kernels.cubin import Kernel

__all__ = ["bound_text", "slot_rows"]


def slot_rows(
    functions: Sequence[Function | Dispatched],
) -> tuple[tuple[str, BoundParam], ...]:
    """Return all slots of functions with the functions' names, in the order of the table."""
    return tuple((function.name, slot) for function in functions for slot in function.slots)


def bound_text(
    slots: Sequence[tuple[str, BoundParam]],
    trailing: Sequence[BoundParam],
    kernels: Mapping[str, Sequence[Kernel]],
    param_row: Callable[[Exported], str],
) -> tuple[str, str]:
    """Return the text of the table, and that of the entries that bind and read it.

    Parameters
    ----------
    slots : sequence of (str, BoundParam)
        Those of functions, as `slot_rows` has them.
    trailing : sequence of BoundParam
        Those of the kernels that C++ functions launch.
    kernels : mapping of str to sequence of Kernel
        Those that C++ functions may launch, by the name of their image.
    param_row : callable
        Returns the text of a row of parameters.
    """
    rows = [(c_string(function), param) for function, param in slots]
    rows += [("nullptr", param) for param in trailing]
    if not rows:
        return "", ""
    largest = max(param.slot.size for _, param in rows)
    table = template("bound_table.cc.in").substitute(
        params="\n".join(param_row(param.slot) for _, param in rows),
        size=max(8, largest),
        slots="\n".join(
            f"    {{{function}, &bound_params[{number}], unbound, "
            f"{'true' if param.required else 'false'}}},"
            for number, (function, param) in enumerate(rows)
        ),
        num_slots=len(rows),
        num_trailing=len(trailing),
        kernels=_kernels_text(kernels),
        kernel_table="bound_kernels" if any(kernels.values()) else "nullptr",
        num_kernels=sum(map(len, kernels.values())),
    )
    return table, template("bound_export.cc.in").substitute()


def _kernels_text(kernels: Mapping[str, Sequence[Kernel]]) -> str:
    """Return the table of what kernels take; empty where there is none."""
    sizes: list[str] = []
    rows: list[str] = []
    for image, members in kernels.items():
        for kernel in members:
            name = f"bound_sizes_{len(rows)}"
            # One more: there is no array of nothing.
            listed = ", ".join(str(param.size) for param in kernel.params) or "0"
            sizes.append(f"constexpr uint32_t {name}[] = {{{listed}}};")
            cells = (f"__tvmffi_cubin_image_{image}", c_string(kernel.name), name)
            rows.append(f"    {{{', '.join(cells)}, {len(kernel.params)}}},")
    if not rows:
        return ""
    lines = (*sizes, "const BoundKernel bound_kernels[] = {", *rows, "};")
    return "".join(f"{line}\n" for line in lines)
