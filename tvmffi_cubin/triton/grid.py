"""Triton's grid of a launch: numbers, expressions, or a function that is traced once."""

from __future__ import annotations

import dis
import inspect
import operator
import re
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NoReturn

from ..launches.values import plain
from .kernel import Argument, CompiledKernel, tuple_like, unwrapped

_REMEDY = (
    "write the grid as an expression, grid='ceil_div(n, BLOCK)', or leave it to callers: without "
    "grid=, mod.k[grid](...) takes any Python function"
)
# What follows a dot is no name of its own: x.shape.
_NAME = r"(?<![\w.])[^\W\d]\w*"


def launch_grid(kernel: CompiledKernel, grid: Any) -> Any:
    """Return a grid in blocks, as `Launch` takes it."""
    grid = unwrapped(_traced(kernel, grid) if callable(grid) else grid)
    if isinstance(grid, str) or not isinstance(grid, Iterable):
        grid = (grid,)
    figures = [_dimension(kernel, unwrapped(item)) for item in grid]
    ctas = int(kernel.metadata.num_ctas)
    if ctas > 1 and figures:
        x = figures[0]
        figures[0] = x * ctas if isinstance(x, int) else f"({x}) * {ctas}"
    return figures


def _dimension(kernel: CompiledKernel, item: Any) -> Any:
    def value(name: re.Match[str]) -> str:
        found = plain(kernel.constants.get(name[0]))
        return str(int(found)) if isinstance(found, int) else name[0]

    if isinstance(item, str):  # in which constexprs stand for their values
        return re.sub(_NAME, value, item)
    return item.text if isinstance(item, Symbol) else item


def _traced(kernel: CompiledKernel, function: Any) -> Any:
    if not isinstance(function, FunctionType):
        raise TypeError(f"grid: a {type(function).__name__} cannot be traced; {_REMEDY}")
    if outside := outside_values(function):
        raise ValueError(
            f"grid: the function reads {', '.join(outside)} from outside, whose values would be "
            f"those of now at every launch; pass them as arguments of the kernel, or {_REMEDY}"
        )
    try:
        return function({name: _symbols(x) for name, x in kernel.arguments.items()})
    except Exception as error:
        what = f"grid: the function cannot be traced: {type(error).__name__}: {error}"
        raise TypeError(f"{what}\n{_REMEDY}") from error


def _symbols(value: Any) -> Any:
    """Return an argument, or a tuple of them, with symbols for what is known at run time only."""
    if isinstance(value, Argument):
        constants = {"one": 1, "none": None}
        return constants[value.type] if value.type in constants else Symbol(value.name)
    return tuple_like(value, [*map(_symbols, value)]) if isinstance(value, tuple) else value


def outside_values(function: FunctionType) -> list[str]:
    """Return the variables outside a function that it reads, whose values tracing would freeze."""
    names = _global_names(function.__code__)
    params = inspect.signature(function).parameters.values()
    values = {
        **{name: x for name, x in function.__globals__.items() if name in names},
        **inspect.getclosurevars(function).nonlocals,
        **{param.name: param.default for param in params if param.default is not param.empty},
    }
    found = []
    for name, value in values.items():
        value = getattr(value, "fn", value)  # of what triton.constexpr_function decorates
        if isinstance(value, FunctionType):
            found += outside_values(value) if value is not function else []
        # Names of modules, classes and constexprs stand for the same ever after.
        elif not isinstance(value, ModuleType | type | BuiltinFunctionType):
            found += [name] if type(value).__name__ != "constexpr" else []
    return found


def _global_names(code: CodeType) -> set[str]:
    names = {x.argval for x in dis.get_instructions(code) if x.opname == "LOAD_GLOBAL"}
    return names.union(*(_global_names(x) for x in code.co_consts if isinstance(x, CodeType)))


def _arithmetic(sign: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def operand(value: Any) -> str:
        value = unwrapped(value)
        return value.text if isinstance(value, Symbol) else str(operator.index(value))

    return (
        lambda self, other: Symbol(f"({self.text} {sign} {operand(other)})"),
        lambda self, other: Symbol(f"({operand(other)} {sign} {self.text})"),
    )


class Symbol:
    """A run-time argument, of which arithmetic and what tensors have make an expression, `text`."""

    __iter__ = None  # how many dimensions there are is known at run time only

    def __init__(self, text: str) -> None:
        self.text = text

    __add__, __radd__ = _arithmetic("+")
    __sub__, __rsub__ = _arithmetic("-")
    __mul__, __rmul__ = _arithmetic("*")
    __floordiv__, __rfloordiv__ = _arithmetic("//")
    __mod__, __rmod__ = _arithmetic("%")

    def __neg__(self) -> Symbol:
        return 0 - self  # type: ignore[no-any-return]

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self.text} is known at run time only")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError(f"{self.text} is compared, and known at run time only")

    def __getitem__(self, dim: int) -> Symbol:
        return Symbol(f"{self.text}[{operator.index(dim)}]")

    @property
    def shape(self) -> Symbol:  # noqa: D102
        return Symbol(f"{self.text}.shape")

    def size(self, dim: int) -> Symbol:  # noqa: D102
        return self.shape[dim]

    def stride(self, dim: int) -> Symbol:  # noqa: D102
        return Symbol(f"{self.text}.stride[{operator.index(dim)}]")

    def numel(self) -> Symbol:  # noqa: D102
        return Symbol(f"{self.text}.numel")
