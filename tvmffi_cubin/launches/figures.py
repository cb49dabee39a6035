"""Figures of a launch, such as dimensions: constants or expressions, checked when given."""

from __future__ import annotations

import operator
from typing import Any

from .expression import parse

Figure = int | str
"""A dimension, a size, a priority: a constant or an expression."""

Flag = bool | str
"""Whether something is on: a constant or a condition."""


def check_figure(name: str, value: object, *, least: int = 0, most: int = 2**32 - 1) -> None:
    """Check a constant or an expression; `name` is what messages call it."""
    if isinstance(value, str):
        try:
            parse(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is an int or an expression, got {type(value).__name__}")
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}, wanted {least} to {most}")


def check_condition(name: str, text: object) -> None:
    """Check a condition."""
    try:
        parse(text, is_condition=True)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def figures(
    name: str, value: Any, *, most: int = 3, least: int = 1, of: str = ""
) -> tuple[Figure, ...]:
    """Return a figure, or a sequence of `least` to `most`, as a tuple of plain values."""
    value = plain(value)
    if isinstance(value, int | str):
        value = (value,)
    # Sets have no order, and an iterator may have no end.
    if isinstance(value, bytes | dict) or not hasattr(value, "__getitem__"):
        raise TypeError(
            f"{of}{name} is an int, an expression or up to {most} of them, got "
            f"{type(value).__name__}"
        )
    found = tuple(map(plain, value))
    if not least <= len(found) <= most:
        raise ValueError(f"{of}{name} has {least} to {most} dimensions, got {len(found)}")
    return found


def dimensions(name: str, value: object, *, least: int, most: int = 2**32 - 1) -> tuple[Any, ...]:
    """Return one to three dimensions, checked."""
    found = figures(name, value)
    for axis, figure in zip("xyz", found, strict=False):
        check_figure(f"{name}.{axis}", figure, least=least, most=most)
    return found


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
