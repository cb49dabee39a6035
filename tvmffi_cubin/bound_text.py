"""Text of the tables of what is bound: a slot for each name that a function has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .c_text import c_string, template
from .dispatched import Dispatched
from .exported import Exported
from .function import BoundParam, Function

__all__ = ["bound_text", "slot_rows"]


def slot_rows(
    functions: Sequence[Function | Dispatched],
) -> tuple[tuple[str, BoundParam], ...]:
    """Return all slots of functions with the functions' names, in the order of the table."""
    return tuple((function.name, slot) for function in functions for slot in function.slots)


def bound_text(
    slots: Sequence[tuple[str, BoundParam]],
    trailing: Sequence[BoundParam],
    param_row: Callable[[Exported], str],
) -> tuple[str, str]:
    """Return the text of the table, and that of the entries that bind and read it.

    Parameters
    ----------
    slots : sequence of (str, BoundParam)
        Those of functions, as `slot_rows` has them.
    trailing : sequence of BoundParam
        Those of the kernels that C++ functions launch.
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
    )
    return table, template("bound_export.cc.in").substitute()
