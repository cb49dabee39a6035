"""A launch's grid as Triton has it: numbers, expressions, or a function that is traced once."""

from __future__ import annotations

import dis
import inspect
import re
import traceback
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from ..launches.values import plain
from .kernel import Argument, CompiledKernel
from .symbols import SymbolicInt, SymbolicTensor, unwrapped

_REMEDY = (
    "write the grid as an expression, such as grid='ceil_div(n, BLOCK)', or leave it to callers: "
    "without grid=, mod.k[grid](...) takes any Python function at each call"
)
# What these modules hold is taken as it is: nothing of it changes.
_CONSTANT = ("triton", "math", "operator", "_operator", "functools", "_functools", "builtins")


def launch_grid(kernel: CompiledKernel, grid: Any) -> Any:
    """Return a grid as `Launch` takes it, over the function's arguments, in blocks."""
    grid = unwrapped(_traced(kernel, grid) if callable(grid) else grid)
    if isinstance(grid, int | str) or not isinstance(grid, Iterable):  # a symbol is an int as well
        grid = (grid,)
    figures = [_dimension(kernel, unwrapped(item)) for item in grid]
    ctas = int(kernel.metadata.num_ctas)
    if ctas > 1 and figures:
        x = figures[0]
        figures[0] = x * ctas if isinstance(x, int) else f"({x}) * {ctas}"
    return figures


def _dimension(kernel: CompiledKernel, item: Any) -> Any:
    if isinstance(item, str):
        # Constexprs stand for their values; "x.BLOCK" is no constexpr.
        return re.sub(r"(?<![\w.])[^\W\d]\w*", lambda name: _constant(kernel, name[0]), item)
    return item.text if type(item) is SymbolicInt else item


def _constant(kernel: CompiledKernel, name: str) -> str:
    value = plain(kernel.constants.get(name, name))
    if isinstance(value, int):
        return str(int(value)) if value >= 0 else f"({value})"
    if value != name:
        raise ValueError(f"grid: {name} is the constant {value!r}, no integer")
    return name


def _symbol(argument: Argument) -> Any:
    if argument.type in ("one", "none"):
        return 1 if argument.type == "one" else None
    is_tensor = argument.type.startswith(("*", "tensordesc"))
    return (SymbolicTensor if is_tensor else SymbolicInt)(argument.name)


def _traced(kernel: CompiledKernel, function: Any) -> Any:
    if not isinstance(function, FunctionType):
        raise TypeError(
            f"grid: a Python function is traced, got a {type(function).__name__}; {_REMEDY}"
        )
    if outside := outside_values(function):
        raise ValueError(
            f"grid: the function reads {', '.join(outside)} from outside, whose values would be "
            f"those of now at every launch; pass them as arguments of the kernel, or {_REMEDY}"
        )
    try:
        return function(kernel.nested(_symbol))
    except Exception as error:
        what = f"no argument {error}" if isinstance(error, KeyError) else str(error)
        lines = (
            f"\n  {x.filename}:{x.lineno}: {x.line}"
            for x in reversed(traceback.extract_tb(error.__traceback__))
            if x.filename == function.__code__.co_filename
        )
        raise TypeError(
            f"grid: the function cannot be traced: {what}{next(lines, '')}\n{_REMEDY}"
        ) from error


def outside_values(function: FunctionType) -> list[str]:
    """Return the names of values that a function reads from outside, which tracing would freeze."""
    return list(dict.fromkeys(_outside(function, [])))


def _outside(function: FunctionType, seen: list[Any]) -> Iterator[str]:
    seen.append(function)
    names, attributes = _reads(function.__code__)
    values = {name: x for name, x in function.__globals__.items() if name in names}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        values[name] = cell.cell_contents
    for param in inspect.signature(function).parameters.values():
        if param.default is not param.empty:
            values[param.name] = param.default
    for name, value in values.items():
        yield from _frozen(name, value, attributes, seen)


def _frozen(name: str, value: Any, attributes: set[str], seen: list[Any]) -> Iterator[str]:
    value = getattr(value, "fn", value)  # of what triton.constexpr_function decorates
    if _is_constant(value) or any(value is x for x in seen):
        return
    if isinstance(value, FunctionType):
        yield from _outside(value, seen)
        return
    # Of modules and classes, what is read of them.
    read = sorted(attributes & set(vars(value))) if isinstance(value, ModuleType | type) else ()
    for attribute in read:
        yield from _frozen(f"{name}.{attribute}", getattr(value, attribute), attributes, seen)
    if not read:
        yield name


def _is_constant(value: Any) -> bool:
    if isinstance(value, BuiltinFunctionType):
        value = value.__self__  # its module, or the object that it is a method of
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] in _CONSTANT
    if callable(value) or type(value).__name__ in ("constexpr", "dtype"):
        return (value.__module__ or "").partition(".")[0] in _CONSTANT
    return False


def _reads(code: CodeType) -> tuple[set[str], set[str]]:
    """Return the names of globals and of attributes that code reads."""
    names, attributes = set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            names.add(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.add(instruction.argval)
        elif isinstance(instruction.argval, CodeType):
            inner = _reads(instruction.argval)
            names |= inner[0]
            attributes |= inner[1]
    return names, attributes
