"""Figures of a launch, such as dimensions: constants or expressions, checked when given."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Set
from itertools import islice
from typing import Any

from . import expr

__all__ = [
    "Figure",
    "Flag",
    "check_condition",
    "check_figure",
    "check_flag",
    "dimensions",
    "is_unordered",
    "plain",
]

Figure = int | str
"""A dimension, a size, a priority: a constant or an expression."""

Flag = bool | str
"""Whether something is on: a constant or a condition."""

# Iterable, and yet no sequence of figures or names: a slip, as where "n" became b"n".
_UNORDERED = (bytes, bytearray, Mapping, Set)


def check_figure(name: str, value: object, *, least: int = 0, most: int = 2**32 - 1) -> None:
    """Check a constant or an expression; `name` is what messages call it.

    Raises
    ------
    TypeError, ValueError
        It is neither, or the constant is not from `least` to `most`.
    """
    if isinstance(value, str):
        try:
            expr.parse(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is an int or an expression, got {type(value).__name__}")
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}, wanted {least} to {most}")


def check_flag(name: str, value: object) -> None:
    """Check a bool or a condition.

    Raises
    ------
    TypeError, ValueError
        It is neither.
    """
    if isinstance(value, bool):
        return
    if not isinstance(value, str):
        raise TypeError(f"{name} is a bool or a condition, got {type(value).__name__}")
    check_condition(name, value)


def check_condition(name: str, text: str) -> None:
    """Check a condition.

    Raises
    ------
    TypeError, ValueError
        It is none; the message points at the character.
    """
    from . import condition

    try:
        condition.parse(text)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def dimensions(name: str, value: object, *, least: int) -> tuple[Figure, ...]:
    """Return one to three dimensions, checked.

    Raises
    ------
    TypeError, ValueError
        It is no figure and no sequence of them, or one of them is out of range.
    """
    value = plain(value)
    if isinstance(value, int | str):
        value = (value,)
    if is_unordered(value) or not isinstance(value, Iterable):
        raise TypeError(
            f"{name} is an int, an expression or up to three of them, got {type(value).__name__}"
        )
    # What has no end, such as itertools.count(), is not read to it.
    figures = tuple(map(plain, islice(value, 4)))
    if not 1 <= len(figures) <= 3:
        count = len(figures) if len(figures) < 4 else "4 or more"
        raise ValueError(f"{name} has 1 to 3 dimensions, got {count}")
    for axis, figure in zip("xyz", figures, strict=False):
        check_figure(f"{name}.{axis}", figure, least=least)
    return figures


def plain(value: Any) -> Any:
    """Return a number, bool or text of another class (NumPy's, an enumeration's) as Python's own.

    Anything else is returned as it is.
    """
    if type(value) in (bool, int, str):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    try:
        return operator.index(value)
    except TypeError:
        return value


def is_unordered(value: object) -> bool:
    """Whether a value can be iterated over and yet is no sequence of figures or names."""
    return isinstance(value, _UNORDERED)
