"""What a grid's Python function reads from outside, which compiling would freeze."""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["outside_values"]

# Of these the functions are taken as they are: they read nothing that changes.
_KNOWN = ("triton", "math", "operator", "_operator", "functools", "_functools", "builtins")
_UNKNOWN = object()

Path = tuple[str, ...]
"""A variable, then the attributes that are read of it."""


def outside_values(function: FunctionType) -> list[str]:
    """Return the names of values that a function, or one that it calls, reads from outside."""
    return list(dict.fromkeys(_values(function, set())))


def _values(function: FunctionType, seen: set[int]) -> Iterator[str]:
    if id(function) in seen:
        return
    seen.add(id(function))
    for path, given in _reads(function):
        value, name = _followed(path, given)
        # What triton.constexpr_function has decorated is the user's own.
        inner = getattr(value, "fn", value)
        if isinstance(inner, FunctionType):
            if not _is_known(inner.__module__):
                yield from _values(inner, seen)
        elif not _is_constant(value):
            yield name


def _reads(function: FunctionType) -> Iterator[tuple[Path, Any]]:
    paths = list(_paths(function.__code__))
    cells = zip(function.__closure__ or (), function.__code__.co_freevars, strict=True)
    for cell, name in cells:
        try:
            value = cell.cell_contents
        except ValueError:
            continue  # of a variable that has no value yet
        for path in [path for path in paths if path[0] == name] or [(name,)]:
            yield path, value
    for path in paths:
        if path[0] in function.__globals__ and path[0] not in function.__code__.co_freevars:
            yield path, function.__globals__[path[0]]
    for name in _imported(function.__code__):
        yield (name,), ModuleType(name)
    names = function.__code__.co_varnames
    defaults = function.__defaults__ or ()
    first = function.__code__.co_argcount - len(defaults)
    given = [*zip(names[first:], defaults, strict=False), *(function.__kwdefaults__ or {}).items()]
    for name, value in given:
        yield (name,), value


def _inner(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of what is defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _inner(constant)


def _paths(code: CodeType) -> Iterator[Path]:
    for part in _inner(code):
        yield from _paths_in(dis.get_instructions(part))


def _paths_in(instructions: Iterable[dis.Instruction]) -> Iterator[Path]:
    path: Path = ()
    for instruction in instructions:
        if path and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            path = (*path, instruction.argval)
            continue
        if path:
            yield path
        is_read = instruction.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"))
        path = (instruction.argval,) if is_read else ()


def _imported(code: CodeType) -> Iterator[str]:
    for part in _inner(code):
        for instruction in dis.get_instructions(part):
            if instruction.opname == "IMPORT_NAME":
                yield instruction.argval


def _followed(path: Path, value: Any) -> tuple[Any, str]:
    """Return what attributes of modules and classes lead to, which are outside as well."""
    depth = 1
    while depth < len(path) and isinstance(value, ModuleType | type):
        value = getattr(value, path[depth], _UNKNOWN)
        depth += 1
    return value, ".".join(path[:depth])


def _is_known(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _KNOWN


def _is_constant(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return _is_known(value.__name__)
    if isinstance(value, type):
        return _is_known(value.__module__)
    if isinstance(value, BuiltinFunctionType):
        owner = value.__self__
        return isinstance(owner, ModuleType) and _is_known(owner.__name__)
    # Triton's own: functions, types, and values that are declared to be constants.
    is_value = callable(value) or type(value).__name__ in ("constexpr", "dtype")
    return is_value and type(value).__module__.partition(".")[0] == "triton"
