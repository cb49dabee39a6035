"""Values for the kernel parameters of a module that no caller passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import tvm_ffi

from .ordinal import device_ordinal

if TYPE_CHECKING:
    from .module import Module

__all__ = ["bind", "read"]

_BIND = "_tvmffi_cubin_bind"
_BOUND = "_tvmffi_cubin_bound"
_CURRENT = -1
_Slot = tuple[int, str | None, str]


class _Kept:
    """A value in an object that tvm-ffi passes on, and keeps alive, as it is."""

    __slots__ = ("memory", "value")

    def __init__(self, value: Any, memory: Any) -> None:
        self.value = value
        self.memory = memory


def bind(module: Module, function: str | None, device: Any, values: Mapping[str, Any]) -> None:
    """Bind values; see `Module.bind`."""
    ordinal = None if device is None else _number(device)
    slots = list(_slots(module))
    if function is not None:
        slots = _of_function(module, function, slots)
    elif not slots:
        raise ValueError(
            "bind: the module has no bound parameters: they are those that a Launch gives as "
            'args={"counters": Bound()}, or that bound_params names'
        )
    args: list[Any] = [ordinal]
    for name, value in values.items():
        found = [number for number, _, known in slots if known == name]
        if not found:
            what = "the module" if function is None else repr(function)
            names = ", ".join(dict.fromkeys(known for _, _, known in slots))
            raise ValueError(f"bind: {what} has no bound parameter {name!r}; there are {names}")
        for number in found:
            args += [number, *_owned(value)]
    tvm_ffi.Module.get_function(module, _BIND)(*args)


def read(module: Module, device: Any) -> dict[str | None, dict[str, Any]]:
    """Return what is bound; see `Module.bound`."""
    ordinal = _number(device)
    found: dict[str | None, dict[str, Any]] = {}
    for number, function, name in _slots(module):
        kept = tvm_ffi.Module.get_function(module, _BOUND)(ordinal, number)
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


def _number(device: Any) -> int:
    ordinal = device_ordinal(device)
    return _CURRENT if ordinal is None else ordinal


def _slots(module: Module) -> Iterator[_Slot]:
    """Yield number, function (None: C++ functions) and name of each bound parameter."""
    number = 0
    facts = module.manifest
    having = [(name, x.get("bound", ())) for name, x in facts.get("functions", {}).items()]
    for function, slots in (*having, (None, facts.get("bound", ()))):
        for name, *_ in slots:
            yield number, function, name
            number += 1


def _of_function(module: Module, function: str, slots: list[_Slot]) -> list[_Slot]:
    if not isinstance(function, str):
        raise TypeError(f"bind: function is a str, got {type(function).__name__}")
    own = [slot for slot in slots if slot[1] == function]
    if own:
        return own
    with_some = ", ".join(dict.fromkeys(name for _, name, _ in slots if name)) or "none"
    if any(name is None for _, name, _ in slots) and function not in module.functions:
        raise ValueError(
            f"bind: {function!r} is no generated function (those with bound parameters: "
            f"{with_some}); for all that C++ functions launch, leave the name out"
        )
    if function in module.functions:
        raise ValueError(f"bind: {function!r} has no bound parameters; {with_some} has some")
    raise ValueError(
        f"bind: the module has no function {function!r}; those with bound parameters: {with_some}"
    )
