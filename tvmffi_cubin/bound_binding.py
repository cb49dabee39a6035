"""Kernel parameters that are bound: their slots, one for each name that a function has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .bound import Bound
from .exported import Exported
from .function import BoundParam
from .kernels.types import Param

__all__ = ["bind_parameter", "merged"]


def bind_parameter(bound: Bound, param: Param, size: int, *, strided: bool) -> BoundParam:
    """Return where a kernel parameter comes from that is given as `Bound`."""
    named = bound.named(param.name)
    assert named.name is not None
    slot = Exported(Param(named.name, param.type, param.ndim), size, strided=strided)
    return BoundParam(slot, named.required)


def merged(params: Iterable[BoundParam], where: str) -> tuple[BoundParam, ...]:
    """Return one for each name, which takes what is right for all kernel parameters of that name.

    Raises
    ------
    ValueError
        Nothing is; the message begins with `where`.
    """
    slots: dict[str, BoundParam] = {}
    for given in params:
        before = slots.get(given.name)
        if before is None:
            slots[given.name] = given
            continue
        try:
            both = before.slot.merged(given.slot.param, given.slot.size)
        except ValueError as error:
            raise ValueError(
                f"{where}: the bound parameter {given.name!r} {error}: give it another name here, "
                f'as in Bound("{given.name}_2")'
            ) from None
        both = replace(both, strided=before.slot.strided and given.slot.strided)
        slots[given.name] = BoundParam(both, before.required or given.required)
    return tuple(slots.values())
