"""Values for the kernel parameters of a module that no caller passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import tvm_ffi

from .options import device_ordinal

if TYPE_CHECKING:
    from .module import Module

_CURRENT_DEVICE = -1


class _Slot(NamedTuple):
    number: int
    function: str | None  # None: what C++ functions pass
    name: str


class _Kept:
    """A value in an object that tvm-ffi passes on, and keeps alive, as it is."""

    __slots__ = ("memory", "value")

    def __init__(self, value: Any, memory: Any) -> None:
        self.value = value
        self.memory = memory


def bind(module: Module, function: str | None, device: Any, values: Mapping[str, Any]) -> None:
    """Bind values; see `Module.bind`."""
    slots = list(_slots(module))
    if not slots:
        raise ValueError(
            "bind: the module has no bound parameters: they are those that a Launch gives as "
            'args={"counters": Bound()}, or that bound_params names'
        )
    if function is not None:
        slots = _of_function(function, slots)
    args: list[Any] = [None if device is None else _ordinal(device)]
    for name, value in values.items():
        found = [slot.number for slot in slots if slot.name == name]
        if not found:
            what = "the module" if function is None else repr(function)
            names = ", ".join(dict.fromkeys(slot.name for slot in slots))
            raise ValueError(f"bind: {what} has no bound parameter {name!r}; there are {names}")
        for number in found:
            args += [number, *_owned(value)]
    module._entry("bind")(*args)


def read(module: Module, device: Any) -> dict[str | None, dict[str, Any]]:
    """Return what is bound; see `Module.bound`."""
    ordinal = _ordinal(device)
    found: dict[str | None, dict[str, Any]] = {}
    for number, function, name in _slots(module):
        kept = module._entry("bound")(ordinal, number)
        found.setdefault(function, {})[name] = None if kept is None else kept.value
    return found


def _owned(value: Any) -> tuple[Any, Any]:
    """Return what is passed for a value, and what keeps that alive."""
    if value is None:
        return None, None
    is_tensor = hasattr(value, "__dlpack__") and not isinstance(value, tvm_ffi.Tensor)
    # The tensor itself may let go of its memory, as torch's do that are resized.
    memory = tvm_ffi.from_dlpack(value) if is_tensor else value
    return memory, _Kept(value, memory)


def _ordinal(device: Any) -> int:
    ordinal = device_ordinal(device)
    return _CURRENT_DEVICE if ordinal is None else ordinal


def _slots(module: Module) -> Iterator[_Slot]:
    number = 0
    facts = module.manifest
    having = [(name, x.get("bound", ())) for name, x in facts.get("functions", {}).items()]
    for function, slots in (*having, (None, facts.get("bound", ()))):
        for name, *_ in slots:
            yield _Slot(number, function, name)
            number += 1


def _of_function(function: str, slots: list[_Slot]) -> list[_Slot]:
    own = [slot for slot in slots if slot.function == function]
    if not own:
        having = ", ".join(dict.fromkeys(slot.function for slot in slots if slot.function))
        raise ValueError(
            f"bind: there is no generated function {function!r} with bound parameters; there are "
            f"{having or 'none'} (leave the function out for what C++ functions launch)"
        )
    return own
