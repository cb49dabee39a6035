"""Values for the kernel parameters of a module that no caller passes."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import tvm_ffi

from .stream import device_ordinal

if TYPE_CHECKING:
    from .module import Module


def bind(module: Module, function: str | None, device: Any, values: Mapping[str, Any]) -> None:
    """Bind values; see `Module.bind`."""
    slots = [
        (name, i) for i, (owner, name) in enumerate(_slots(module)) if function in (None, owner)
    ]
    args: list[Any] = [None if device is None else _number(device)]
    for name, value in values.items():
        numbers = [number for slot, number in slots if slot == name]
        if not numbers:
            what = f"the generated function {function!r}" if function else "the module"
            names = ", ".join(dict(slots)) or "none (see Bound)"
            raise ValueError(f"bind: {what} has no bound parameter {name!r}; there are {names}")
        # The tensor itself may let go of its memory, as torch's do that are resized.
        memory = tvm_ffi.from_dlpack(value) if hasattr(value, "__dlpack__") else value
        # In an object that tvm-ffi passes on as it is.
        kept = None if value is None else SimpleNamespace(value=value, memory=memory)
        for number in numbers:
            args += [number, memory, kept]
    module._entry("bind")(*args)


def read(module: Module, device: Any) -> dict[str | None, dict[str, Any]]:
    """Return what is bound; see `Module.bound`."""
    found: dict[str | None, dict[str, Any]] = {}
    for number, (owner, name) in enumerate(_slots(module)):
        kept = module._entry("bound")(_number(device), number)
        found.setdefault(owner, {})[name] = None if kept is None else kept.value
    return found


def _number(device: Any) -> int:
    """Return a device's number, -1 for the current one."""
    ordinal = device_ordinal(device)
    return -1 if ordinal is None else ordinal


def _slots(module: Module) -> list[tuple[str | None, str]]:
    """Return the bound parameters, by number: function (None: C++ functions) and name."""
    facts = module.manifest
    owners = [*facts.get("functions", {}).items(), (None, facts)]
    return [(owner, row[0]) for owner, x in owners for row in x.get("bound", ())]
