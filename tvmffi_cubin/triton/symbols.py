"""Stand-ins for run-time arguments, over which a grid's Python function is traced.

Arithmetic on them writes an expression; whatever needs a value raises `NotTraceable`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn


class NotTraceable(TypeError):
    """A grid's function does what no expression can."""


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

    def _value(self) -> NoReturn:
        raise NotTraceable(
            f"{self.text} is known at run time only, and its value is asked for here"
        )

    def _float(self, other: Any) -> NoReturn:
        raise NotTraceable(f"'/' gives a float: use // or triton.cdiv for {self.text}")

    def _compared(self, other: Any) -> NoReturn:
        raise NotTraceable(
            f"{self.text} is compared, or given to min or max, and is known at run time only: an "
            "expression has min(a, b) and max(a, b)"
        )

    def _other(self, *_: Any) -> NoReturn:
        raise NotTraceable(f"only + - * // % of {self.text} have an expression")

    __bool__ = __int__ = __index__ = __float__ = _value
    __truediv__ = __rtruediv__ = _float
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _compared
    __hash__ = None  # type: ignore[assignment]
    __pow__ = __rpow__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _other
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __abs__ = __round__ = _other
    __divmod__ = __rdivmod__ = _other


class Unreadable(SymbolicInt):
    """An argument that no expression reads, such as a float: any use of it is an error."""

    def __init__(self, name: str, type_: str) -> None:
        self._problem = (
            f"{name} is {type_}, known at run time only; expressions read integers and tensors' "
            "shapes"
        )

    @property
    def text(self) -> str:  # type: ignore[override]
        """Raise."""
        raise NotTraceable(self._problem)


class SymbolicTensor:
    """A tensor, or a descriptor of one: its shape, strides and number of elements."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.base = self
        self.shape, self.strides = _Sizes(f"{name}.shape"), _Sizes(f"{name}.stride")

    def stride(self, dimension: int | None = None) -> Any:
        """Return a stride, or all of them."""
        return self.strides if dimension is None else self.strides[dimension]

    def size(self, dimension: int | None = None) -> Any:
        """Return a dimension, or all of them."""
        return self.shape if dimension is None else self.shape[dimension]

    def numel(self) -> SymbolicInt:
        """Return the number of elements."""
        return SymbolicInt(f"{self.name}.numel")

    def __getattr__(self, name: str) -> NoReturn:
        raise NotTraceable(
            f"{self.name}.{name} has no expression: of a tensor there are .shape[i], "
            ".stride(i) and .numel()"
        )


class _Sizes:
    def __init__(self, text: str) -> None:
        self.text = text

    def __getitem__(self, index: Any) -> SymbolicInt:
        return SymbolicInt(f"{self.text}[{operator.index(index)}]")

    def __iter__(self) -> Iterator[Any]:
        raise NotTraceable(f"how many {self.text} has is known at run time only: index it")

    __len__ = __bool__ = __iter__


def _operand(value: Any) -> str:
    value = unwrapped(value)
    if isinstance(value, SymbolicInt):
        return value.text
    try:
        number = operator.index(value)
    except TypeError:
        kind = "a float" if isinstance(value, float) else "no integer"
        raise NotTraceable(f"{value!r} is {kind}, expressions are integer arithmetic") from None
    return str(number) if number >= 0 else f"({number})"
