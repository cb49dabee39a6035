"""Stand-ins for run-time arguments, over which a grid's Python function is traced.

Arithmetic on them writes an expression; whatever needs a value is a TypeError.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn


def unwrapped(value: Any) -> Any:
    """Return the value of a ``tl.constexpr``."""
    while type(value).__name__ == "constexpr" and hasattr(value, "value"):
        value = value.value
    return value


def _arithmetic(sign: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def left(self: SymbolicInt, other: Any) -> SymbolicInt:
        return SymbolicInt(f"({self.text} {sign} {_operand(other)})")

    def right(self: SymbolicInt, other: Any) -> SymbolicInt:
        return SymbolicInt(f"({_operand(other)} {sign} {self.text})")

    return left, right


def _operand(value: Any) -> str:
    value = unwrapped(value)
    if isinstance(value, SymbolicInt):
        return value.text
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{value!r} is no int, expressions are integer arithmetic") from None
    return str(number) if number >= 0 else f"({number})"


def _refused(why: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *_: Any) -> NoReturn:
        raise TypeError(why.format(self.text))

    return refuse


class SymbolicInt:
    """An integer that is known at run time; `text` is its expression."""

    # isinstance(meta["n"], int) holds, as for the number that a launch of Triton's passes.
    __class__ = property(lambda self: int)

    def __init__(self, text: str) -> None:
        self.text = text

    __add__, __radd__ = _arithmetic("+")
    __sub__, __rsub__ = _arithmetic("-")
    __mul__, __rmul__ = _arithmetic("*")
    __floordiv__, __rfloordiv__ = _arithmetic("//")
    __mod__, __rmod__ = _arithmetic("%")

    def __neg__(self) -> SymbolicInt:
        return SymbolicInt(f"(0 - {self.text})")

    __bool__ = __int__ = __index__ = __float__ = _refused("{} is known at run time only")
    __truediv__ = __rtruediv__ = _refused("'/' gives a float: use // or triton.cdiv for {}")
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refused(
        "{} is compared, and known at run time only: an expression has min(a, b) and max(a, b)"
    )
    __hash__ = None  # type: ignore[assignment]
    __lshift__ = __rlshift__ = __rshift__ = _refused("only + - * // % of {} have an expression")
    __and__ = __or__ = __xor__ = __abs__ = __lshift__  # triton.next_power_of_2 has some of these


class SymbolicTensor:
    """A tensor, or a descriptor of one: its shape, strides and number of elements."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.base = self
        self.shape, self.strides = _Sizes(f"{name}.shape"), _Sizes(f"{name}.stride")

    def stride(self, dimension: int | None = None) -> Any:  # noqa: D102
        return self.strides if dimension is None else self.strides[dimension]

    def size(self, dimension: int | None = None) -> Any:  # noqa: D102
        return self.shape if dimension is None else self.shape[dimension]

    def numel(self) -> SymbolicInt:  # noqa: D102
        return SymbolicInt(f"{self.name}.numel")

    def __getattr__(self, name: str) -> NoReturn:
        raise TypeError(
            f"{self.name}.{name} has no expression: of a tensor there are .shape[i], "
            ".stride(i) and .numel()"
        )


class _Sizes:
    def __init__(self, text: str) -> None:
        self.text = text

    def __getitem__(self, index: Any) -> SymbolicInt:
        return SymbolicInt(f"{self.text}[{operator.index(index)}]")

    __iter__ = __len__ = __bool__ = _refused("how many {} has is known at run time only: index it")
