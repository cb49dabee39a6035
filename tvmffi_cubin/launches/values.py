"""Checked values of launches: figures, memory for one launch (`Scratch`), bound parameters."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Any

from .expression import parse
from .record import Record

Figure = int | str
"""A dimension, a size, a switch: a constant or an expression. Its range is checked at calls."""


@contextmanager
def told(where: str) -> Iterator[None]:
    """Say in errors where they come from."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{where}: {error}") from None


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


def expression(what: str, text: Any) -> str:
    """Check an expression; `what` is what messages call it, here and below."""
    text = plain(text)
    with told(what):
        parse(text)
    return str(text)


def integer(what: str, value: Any) -> int:
    """Check a constant."""
    value = plain(value)
    if not isinstance(value, int):
        raise TypeError(f"{what} is an int, got {type(value).__name__}")
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"{what} is {value}, beyond 64 bits")
    return value


def power_of_two(what: str, value: Any) -> int:
    """Check an alignment, or what a number is a multiple of."""
    number = integer(what, value)
    if not 1 <= number <= 2**30 or number & (number - 1):
        raise ValueError(f"{what} is {number}, wanted a power of two up to 2^30")
    return number


def figure(what: str, value: Any) -> Figure:
    """Check a constant or an expression; a constant as text is a number."""
    if isinstance(value, str) and not value.strip().isdecimal():
        return expression(what, value)
    return integer(what, int(value) if isinstance(value, str) else value)


def figures(what: str, value: Any, most: int = 3, *, least: int = 1) -> tuple[Figure, ...]:
    """Check one figure, or a sequence of them, and return a tuple."""
    value = plain(value)
    given = (value,) if isinstance(value, int | str) else value
    # Sets have no order, and an iterator may have no end.
    if isinstance(given, bytes | dict) or not hasattr(given, "__getitem__"):
        got = type(value).__name__
        raise TypeError(f"{what} is an int, an expression or up to {most} of them, got {got}")
    if not least <= len(given) <= most:
        raise ValueError(f"{what} has {least} to {most} dimensions, got {len(given)}")
    return tuple(figure(f"{what}[{i}]", x) for i, x in enumerate(given))


@dataclass(repr=False, eq=False)
class Scratch(Record, checks={"bytes": figure, "bytes_per_block": figure, "align": power_of_two}):
    """Device memory that is allocated for one launch and given back after it, in stream order.

    It is ``bytes + bytes_per_block * (blocks of the grid)`` large, and not initialised; where that
    is 0, the kernel gets a null pointer. It comes from the allocator of the tensors that the
    function is called with, where they have one (torch's), and from ``cuMemAllocAsync`` otherwise:
    where they have none, where the launch goes to another stream than the one that is current for
    them, and where it may overlap with the launch before it (programmatic dependent launch).

    Parameters
    ----------
    bytes : int or str
        Size in bytes, or an expression that gives it.
    bytes_per_block : int or str
        Size in bytes for each block of the grid, or an expression.
    align : int
        What its address is a multiple of, in bytes; a power of two.

    Raises
    ------
    TypeError, ValueError
        A figure is of the wrong type or no expression, or `align` is no power of two.
    """

    bytes: Figure = 0
    bytes_per_block: Figure = 0
    align: int = 256


@dataclass(repr=False, eq=False)
class Bound(Record, checks={}):
    """A kernel parameter that callers do not pass: ``Launch(args={"counters": Bound()})``.

    ``mod.bind("k", counters=tensor)`` sets it, for as long as nothing else is bound. Until then a
    null pointer or zero is passed.

    Parameters
    ----------
    name : str, optional
        What it is bound by. Default: the parameter's own name.
    required : bool
        A call that finds nothing bound is a LaunchError.
    """

    name: str | None = None
    _: KW_ONLY
    required: bool = False


def bound_params(value: Any) -> tuple[str | Bound, ...]:
    """Check the last parameters of a module's kernels, which it binds: names, declarations."""
    given = (value,) if isinstance(value, str | Bound) else value
    if not isinstance(given, list | tuple):
        raise TypeError(
            f"bound_params is a list of names in the kernels' order, got {type(value).__name__}"
        )
    for x in given:
        bound_name(x)
    return tuple(given)


def bound_name(value: Any) -> str:
    """Return the name that one of `bound_params` is bound by."""
    if isinstance(value, Bound) and value.name:
        return value.name
    if not isinstance(value, str):
        raise TypeError(f"bound_params holds names, declarations and Bound(name), got {value!r}")
    if value.isidentifier():
        return value
    from ..kernels.types import parse_params

    with told(f"bound_params: {value!r}"):
        (declared,) = parse_params(value)
    return declared.name
