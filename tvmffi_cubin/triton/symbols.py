"""Stand-ins for run-time arguments, with which a grid's Python function is called once.

Arithmetic on them gives expressions of this package's language (see `tvmffi_cubin.expr`); anything
that needs a value is an error.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, NoReturn

__all__ = ["NotTraceable", "Opaque", "SymbolicInt", "SymbolicTensor", "unwrapped"]


_MAX_LENGTH = 4000  # of which expr takes a few more


class NotTraceable(TypeError):
    """What a grid's function does that has no expression."""


def unwrapped(value: Any) -> Any:
    """Return the value of a ``tl.constexpr``, which computes with symbols by itself."""
    while type(value).__name__ == "constexpr" and hasattr(value, "value"):
        value = value.value
    return value


class SymbolicInt:
    """An integer that is known at run time; `text` is its expression."""

    # A function that asks for the type of an argument gets the answer that a number would give.
    __class__ = property(lambda self: int)

    def __init__(self, text: str) -> None:
        self.text = text

    def _binary(self, op: str, other: Any, *, swapped: bool = False) -> SymbolicInt:
        pair = (_operand(self), _operand(other))
        left, right = reversed(pair) if swapped else pair
        if len(left) + len(right) > _MAX_LENGTH:
            raise NotTraceable(f"the expression becomes longer than {_MAX_LENGTH} characters")
        return SymbolicInt(f"({left} {op} {right})")

    def __add__(self, other: Any) -> SymbolicInt:
        return self._binary("+", other)

    def __radd__(self, other: Any) -> SymbolicInt:
        return self._binary("+", other, swapped=True)

    def __sub__(self, other: Any) -> SymbolicInt:
        return self._binary("-", other)

    def __rsub__(self, other: Any) -> SymbolicInt:
        return self._binary("-", other, swapped=True)

    def __mul__(self, other: Any) -> SymbolicInt:
        return self._binary("*", other)

    def __rmul__(self, other: Any) -> SymbolicInt:
        return self._binary("*", other, swapped=True)

    def __floordiv__(self, other: Any) -> SymbolicInt:
        return self._binary("//", other)

    def __rfloordiv__(self, other: Any) -> SymbolicInt:
        return self._binary("//", other, swapped=True)

    def __mod__(self, other: Any) -> SymbolicInt:
        return self._binary("%", other)

    def __rmod__(self, other: Any) -> SymbolicInt:
        return self._binary("%", other, swapped=True)

    def __neg__(self) -> SymbolicInt:
        return SymbolicInt(f"(0 - {self.text})")

    def __pos__(self) -> SymbolicInt:
        return self

    def __int__(self) -> NoReturn:
        self._needs_value()

    __index__ = __float__ = __bool__ = __int__

    def __truediv__(self, other: Any) -> NoReturn:
        raise NotTraceable(f"'/' gives a float: use // or triton.cdiv for {self.text}")

    __rtruediv__ = __truediv__

    def _compared(self, other: Any) -> NoReturn:
        raise NotTraceable(
            f"{self.text} is compared, or given to min or max, and is known at run time only: an "
            "expression has min(a, b) and max(a, b)"
        )

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _compared
    __hash__ = None  # type: ignore[assignment]

    def _other(self, *other: Any) -> NoReturn:
        raise NotTraceable(f"only + - * // % of {self.text} have an expression")

    __pow__ = __rpow__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _other
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _other
    __abs__ = __round__ = __divmod__ = __rdivmod__ = __matmul__ = _other

    def _needs_value(self) -> NoReturn:
        raise NotTraceable(
            f"{self.text} is known at run time only, and its value is asked for here"
        )


class SymbolicTensor:
    """A tensor that is known at run time: its shape, strides and number of elements."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def shape(self) -> _Indexed:
        """Its shape."""
        return _Indexed(f"{self.name}.shape")

    @property
    def strides(self) -> _Indexed:
        """Its strides in elements, as a descriptor has them."""
        return _Indexed(f"{self.name}.stride")

    @property
    def base(self) -> SymbolicTensor:
        """A descriptor's tensor."""
        return self

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


class _Indexed:
    def __init__(self, text: str) -> None:
        self.text = text

    def __getitem__(self, index: Any) -> SymbolicInt:
        try:
            return SymbolicInt(f"{self.text}[{operator.index(index)}]")
        except TypeError:
            raise NotTraceable(
                f"{self.text} takes a number known beforehand, got {index!r}"
            ) from None

    def __iter__(self) -> Iterator[Any]:
        raise NotTraceable(f"how many {self.text} has is known at run time only: index it")

    __len__ = __bool__ = __iter__


class Opaque:
    """An argument that no expression can read, such as a float."""

    _name: str
    _type: str

    def __init__(self, name: str, type_: str) -> None:
        self._name, self._type = name, type_

    def _refuse(self, *_: Any) -> NoReturn:
        raise NotTraceable(
            f"{self._name} is {self._type}, known at run time only; expressions read integers and "
            "tensors' shapes"
        )

    __getattr__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _refuse
    __bool__ = __int__ = __index__ = __float__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse
    __hash__ = None  # type: ignore[assignment]


def _operand(value: Any) -> str:
    value = unwrapped(value)
    if isinstance(value, SymbolicInt):
        return value.text
    if isinstance(value, float):
        raise NotTraceable(f"{value!r} is a float, expressions are integer arithmetic")
    try:
        number = operator.index(value)
    except TypeError:
        raise NotTraceable(f"{value!r} is no integer, expressions are integer arithmetic") from None
    return str(number) if number >= 0 else f"({number})"
