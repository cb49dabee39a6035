"""A launch's grid as Triton has it: numbers, expressions, or a function that is traced once."""

from __future__ import annotations

import dis
import linecache
import re
import traceback
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from ..launches.figures import plain
from .kernel import Argument, CompiledKernel
from .symbols import SymbolicInt, SymbolicTensor, Unreadable, unwrapped
from .types import descriptor

_REMEDY = (
    "write the grid as an expression, such as grid='ceil_div(n, BLOCK)', or leave it to callers: "
    "without grid=, mod.k[grid](...) takes any Python function at each call"
)
# What these modules hold is taken as it is: nothing of it changes.
_CONSTANT = ("triton", "math", "operator", "_operator", "functools", "_functools", "builtins")


def launch_grid(kernel: CompiledKernel, grid: Any) -> Any:
    """Return a grid as `Launch` takes it, over the function's arguments, in blocks."""
    if callable(grid):
        grid = _traced(kernel, grid)
    grid = unwrapped(grid)
    if isinstance(grid, int | str):  # a symbol is an int as well
        grid = (grid,)
    if isinstance(grid, bytes) or not isinstance(grid, Iterable):
        raise TypeError(
            f"grid is 1 to 3 numbers or expressions, or a function, got {type(grid).__name__}"
        )
    figures = [_dimension(kernel, plain(unwrapped(item))) for item in grid]
    ctas = int(kernel.metadata.num_ctas)
    if ctas > 1 and figures:
        x = figures[0]
        figures[0] = x * ctas if isinstance(x, int) else f"({x}) * {ctas}"
    return figures


def _dimension(kernel: CompiledKernel, item: Any) -> int | str:
    if isinstance(item, SymbolicInt):
        return item.text
    if isinstance(item, str):
        # Constexprs stand for their values; "x.BLOCK" is no constexpr.
        return re.sub(r"(?<![\w.])[^\W\d]\w*", lambda name: _constant(kernel, name[0]), item)
    if isinstance(item, bool) or not isinstance(item, int):
        hint = "; use // or triton.cdiv" if isinstance(item, float) else ""
        raise TypeError(f"grid: a dimension is an int or an expression, got {item!r}{hint}")
    return item


def _constant(kernel: CompiledKernel, name: str) -> str:
    if name not in kernel.constants:
        return name
    value = plain(kernel.constants[name])
    if not isinstance(value, int):
        raise ValueError(f"grid: {name} is the constant {value!r}, no integer")
    return str(int(value)) if value >= 0 else f"({value})"


def _traced(kernel: CompiledKernel, function: Any) -> Any:
    if not isinstance(function, FunctionType):
        raise TypeError(
            f"grid: a function of one mapping is traced, got a {type(function).__name__}; {_REMEDY}"
        )
    outside = outside_values(function)
    if outside:
        raise ValueError(
            f"grid: the function reads {', '.join(outside)} from outside, whose values would be "
            f"those of now at every launch; pass them as arguments of the kernel, or {_REMEDY}"
        )
    try:
        return function(kernel.nested(_symbol))
    except Exception as error:
        is_unknown = isinstance(error, KeyError)
        what = f"no argument {error}" if is_unknown else str(error)
        kind = ValueError if is_unknown else TypeError
        text = f"grid: the function cannot be traced: {what}{_line(error, function)}\n{_REMEDY}"
        raise kind(text) from error


def _line(error: Exception, function: FunctionType) -> str:
    file = function.__code__.co_filename
    frames = [x for x in traceback.extract_tb(error.__traceback__) if x.filename == file]
    if not frames:
        return ""
    number = frames[-1].lineno or 0
    return f"\n  {file}:{number}: {linecache.getline(file, number).strip()}"


def _symbol(argument: Argument) -> Any:
    name, type_ = argument.name, argument.type
    if type_ in ("one", "none"):
        return 1 if type_ == "one" else None
    if type_.startswith("*") or descriptor(type_) is not None:
        return SymbolicTensor(name)
    if type_[0] in "iu" and type_ not in ("i1", "u1"):
        return SymbolicInt(name)
    return Unreadable(name, type_)


def outside_values(function: FunctionType) -> list[str]:
    """Return the names of values that a function reads from outside, which tracing would freeze."""
    return list(dict.fromkeys(_outside(function, [])))


def _outside(function: FunctionType, seen: list[Any]) -> Iterator[str]:
    seen.append(function)
    names, attributes = _reads(function.__code__)
    values = {name: x for name, x in function.__globals__.items() if name in names}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        values[name] = cell.cell_contents
    values |= function.__kwdefaults__ or {}
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    values |= dict(zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True))
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
        module = value.__name__
    elif callable(value) or type(value).__name__ in ("constexpr", "dtype"):
        module = value.__module__ or ""
    else:
        return False
    return module.partition(".")[0] in _CONSTANT


def _reads(code: CodeType) -> tuple[set[str], set[str]]:
    """Return the names of variables and of attributes that a function's code reads."""
    names, attributes = set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.add(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner_names, inner_attributes = _reads(constant)
            names |= inner_names
            attributes |= inner_attributes
    return names, attributes
