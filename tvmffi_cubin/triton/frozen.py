"""What a grid's Python function reads from outside, which compiling would freeze."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["outside_values"]

# Of these the functions are taken as they are: they read nothing that changes.
_KNOWN = ("triton", "math", "builtins", "operator")


def outside_values(function: FunctionType) -> list[str]:
    """Return the names of values that a function, or one that it calls, reads from outside."""
    return list(dict.fromkeys(_values(function, set())))


def _values(function: FunctionType, seen: set[int]) -> Iterator[str]:
    if id(function) in seen:
        return
    seen.add(id(function))
    for name, value in _reads(function):
        if isinstance(value, FunctionType):
            if value.__module__.partition(".")[0] not in _KNOWN:
                yield from _values(value, seen)
        elif not _is_constant(value):
            yield name


def _reads(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for cell, name in zip(function.__closure__ or (), function.__code__.co_freevars, strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue  # of a variable that has no value yet
    for name in _globals(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    names = function.__code__.co_varnames
    defaults = function.__defaults__ or ()
    yield from zip(names[function.__code__.co_argcount - len(defaults) :], defaults, strict=False)
    yield from (function.__kwdefaults__ or {}).items()


def _globals(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME")):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals(constant)


def _is_constant(value: Any) -> bool:
    if value is None or isinstance(value, ModuleType | type | BuiltinFunctionType):
        return True
    # Triton's own: functions, and values that are declared to be constants.
    return type(value).__module__.partition(".")[0] == "triton"
