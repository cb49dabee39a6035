"""Scratch memory of a launch, bound to the kernel parameter that points to it."""

from __future__ import annotations

from .function import Formula, Scratched
from .kernels.types import Param
from .scope import Scope
from .scratch import Scratch

__all__ = ["bind_scratch"]

_POINTER = 8


def bind_scratch(value: Scratch, scope: Scope, param: Param, size: int) -> Scratched:
    """Bind the memory that one kernel parameter is given.

    Raises
    ------
    ValueError
        The parameter is no pointer, or an expression reads what it cannot.
    """
    if param.type.kind not in ("pointer", "raw") or size != _POINTER:
        raise ValueError(
            f"{scope.where}: args[{param.name!r}]: a Scratch is for a pointer, {param.name!r} is "
            f"'{param.type.text}' of {size} bytes"
        )
    figures = {
        # It is known after the whole shape, so it cannot read what depends on that.
        what: Formula(figure, scope.resolve(f"{what} of args[{param.name!r}]", figure))
        if isinstance(figure, str)
        else figure
        for what, figure in value.figures()
    }
    return Scratched(param.name, value.align, figures)
