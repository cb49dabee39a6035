"""A launch's grid as Triton has it: numbers, expressions, or a function that is traced once."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any

from .. import expr
from ..figures import Figure, is_unordered, plain
from .element_types import descriptor
from .facts import Argument, Facts
from .frozen import outside_values
from .symbols import Opaque, SymbolicInt, SymbolicTensor, unwrapped

__all__ = ["grid_figures"]

_REMEDY = (
    "write the grid as an expression, such as grid='ceil_div(n, BLOCK)', or leave it to callers: "
    "without grid=, mod.k[grid](...) takes any Python function at each call"
)


def grid_figures(facts: Facts, grid: Any) -> tuple[Figure, ...]:
    """Return one to three figures over the function's arguments.

    Parameters
    ----------
    facts : Facts
        The kernel.
    grid : int, str, a sequence of up to three, or a function of one mapping
        As in `tvmffi_cubin.triton.compile`.

    Raises
    ------
    TypeError, ValueError
        It is none of these, or the function has no expression; the message names the line.
    """
    if callable(grid):
        grid = _traced(facts, grid)
    grid = plain(unwrapped(grid))
    if isinstance(grid, int | str):  # a symbol is an int as well
        grid = (grid,)
    if is_unordered(grid) or not isinstance(grid, Iterable):
        raise TypeError(
            f"grid is 1 to 3 numbers or expressions, or a function, got {type(grid).__name__}"
        )
    figures = tuple(_figure(facts, plain(unwrapped(item))) for item in grid)
    if not 1 <= len(figures) <= 3:
        raise ValueError(f"grid has 1 to 3 dimensions, got {len(figures)}")
    ctas = int(facts.metadata.num_ctas)
    return (_times(figures[0], ctas), *figures[1:]) if ctas > 1 else figures


def _times(figure: Figure, count: int) -> Figure:
    return figure * count if isinstance(figure, int) else f"({figure}) * {count}"


def _figure(facts: Facts, item: Any) -> Figure:
    if isinstance(item, SymbolicInt):
        return item.text
    if isinstance(item, str):
        return _with_constants(facts, item)
    if isinstance(item, bool) or not isinstance(item, int):
        hint = "; use // or triton.cdiv" if isinstance(item, float) else ""
        raise TypeError(f"grid: a dimension is an int or an expression, got {item!r}{hint}")
    return item


def _with_constants(facts: Facts, text: str) -> str:
    """Return an expression with the values of constexprs in the place of their names."""
    try:
        tree = expr.parse(text)
    except ValueError as error:
        raise ValueError(f"grid: {error}") from None
    passed = {argument.name for argument in facts.arguments}
    names = {
        read.column: read.name
        for read in expr.names(tree)
        if isinstance(read, expr.Name) and read.name in facts.constants and read.name not in passed
    }
    for column in sorted(names, reverse=True):
        name, value = names[column], plain(facts.constants[names[column]])
        if not isinstance(value, int):
            what = f"grid: {name} is the constant {value!r}, no integer"
            raise expr.failure(text, column, what)
        number = str(int(value)) if value >= 0 else f"({value})"
        text = f"{text[:column]}{number}{text[column + len(name) :]}"
    return text


def _traced(facts: Facts, function: Any) -> Any:
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
        return function(_meta(facts))
    except Exception as error:
        where = _line(error, function)
        what = f"no argument {error}" if isinstance(error, KeyError) else str(error)
        kind = ValueError if isinstance(error, KeyError) else TypeError
        raise kind(f"grid: the function cannot be traced: {what}{where}\n{_REMEDY}") from error


def _line(error: Exception, function: FunctionType) -> str:
    file = function.__code__.co_filename
    frames = [x for x in traceback.extract_tb(error.__traceback__) if x.filename == file]
    if not frames:
        return ""
    number = frames[-1].lineno or 0
    return f"\n  {file}:{number}: {linecache.getline(file, number).strip()}"


def _meta(facts: Facts) -> Mapping[str, Any]:
    """Return what the function is called with: arguments by name, and the values of constants."""
    meta = dict(facts.constants)
    for argument in facts.arguments:
        if len(argument.path) == 1 and argument.type not in ("one", "none"):
            meta[argument.name] = _symbol(argument)
    return meta | {name: _items(value) for name, value in facts.tuples.items()}


def _items(value: Any) -> Any:
    """Return a tuple with symbols in the place of arguments."""
    if isinstance(value, Argument):
        return _symbol(value)
    if not isinstance(value, tuple):
        return value
    items = map(_items, value)
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


def _symbol(argument: Argument) -> Any:
    type_ = argument.type
    if type_ == "one":
        return 1
    if type_ == "none":
        return None
    if type_.startswith("*") or descriptor(type_) is not None:
        return SymbolicTensor(argument.name)
    if type_[0] in "iu" and type_ not in ("i1", "u1"):
        return SymbolicInt(argument.name)
    return Opaque(argument.name, type_)
