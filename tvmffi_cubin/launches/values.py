"""Values in launches, and their checks: `Record`, figures, `Scratch`, bound parameters."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, FrozenInstanceError, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import argument_error
from .expression import parse

if TYPE_CHECKING:
    from ..kernels.types import Param

Figure = int | str
"""A dimension, size or switch: a constant or an expression. Its range is checked at each call."""


class Record:
    """An immutable value with named fields, which are checked on construction.

    A dataclass that only generates ``__init__``: all methods of five add 5 ms to the import.
    """

    # By field: each checks a value that is not the default, and returns the one to store.
    _checks: ClassVar[Mapping[str, Callable[[Any], Any]]]

    def __init_subclass__(cls, checks: Mapping[str, Any]) -> None:
        cls._checks = checks

    def __post_init__(self) -> None:
        for name, check in self._checks.items():
            # Defaults are class attributes.
            value, default = self.__dict__[name], getattr(type(self), name, None)
            if value is not default:
                try:
                    self.__dict__[name] = check(default if value is None else value)
                except (TypeError, ValueError) as error:
                    raise argument_error(error, f"{type(self).__name__}: {name}: {error}") from None

    def changed(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults."""
        return {x: y for x, y in self.__dict__.items() if y != getattr(type(self), x, None)}

    def __repr__(self) -> str:
        shown = (f"{name}={x!r}" for name, x in self.changed().items() if name != "image")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.__dict__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        self.__dict__[name] = value


@contextmanager
def told(where: str) -> Iterator[None]:
    """Prefix errors with where they come from."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise argument_error(error, f"{where}: {error}") from None


def plain(value: Any) -> Any:
    """Return an integer of another class (NumPy's, an enum's) as an int, all else as it is."""
    if type(value) in (bool, int, str):
        return value
    try:
        return operator.index(value)
    except TypeError:
        return value


def expression(text: str) -> str:
    """Check an expression."""
    parse(text)
    return text


def integer(value: Any) -> int:
    """Check a constant."""
    value = plain(value)
    if not isinstance(value, int):
        raise TypeError(f"expected an int, got {type(value).__name__}")
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"{value} does not fit in 64 bits")
    return value


def power_of_two(value: Any) -> int:
    """Check an alignment, or the power of two that a number is a multiple of."""
    number = integer(value)
    if not 1 <= number <= 2**30 or number & (number - 1):
        raise ValueError(f"expected a power of two up to 2^30, got {number}")
    return number


def figure(value: Any) -> Figure:
    """Check a constant or an expression."""
    return expression(value) if isinstance(value, str) else integer(value)


def figures(value: Any, most: int = 3, *, least: int = 1) -> tuple[Figure, ...]:
    """Check one figure, or a sequence of them, and return a tuple."""
    value = plain(value)
    given = (value,) if isinstance(value, int | str) else value
    # Sets have no order, and an iterator may be endless.
    if not isinstance(given, list | tuple):
        got = type(value).__name__
        raise TypeError(f"expected an int, an expression or up to {most} of them, got {got}")
    if not least <= len(given) <= most:
        raise ValueError(f"expected {least} to {most} dimensions, got {len(given)}")
    return tuple(map(figure, given))


@dataclass(repr=False, eq=False)
class Scratch(Record, checks={"bytes": figure, "bytes_per_block": figure, "align": power_of_two}):
    """Device memory that is allocated for one launch and given back after it, in stream order.

    It has ``bytes + bytes_per_block * (blocks of the grid)`` bytes, uninitialized; for 0 the kernel
    gets a null pointer. It comes from the allocator of the call's tensors, such as torch's, or from
    ``cuMemAllocAsync`` if they have none, if the launch uses a stream other than their current one,
    or if it may overlap the previous launch (programmatic dependent launch).

    Parameters
    ----------
    bytes : int or str
        Size in bytes, or an expression for it.
    bytes_per_block : int or str
        Size in bytes per block of the grid, or an expression for it.
    align : int
        Alignment of its address in bytes, a power of two.

    Raises
    ------
    TypeError, ValueError
        A value has the wrong type or is not an expression, or `align` is not a power of two.
    """

    bytes: Figure = 0
    bytes_per_block: Figure = 0
    align: int = 256


@dataclass(repr=False, eq=False)
class Bound(Record, checks={}):
    """A kernel parameter that callers do not pass: ``Launch(args={"counters": Bound()})``.

    ``mod.bind("k", counters=tensor)`` sets it until something else is bound. Until then, the kernel
    gets a null pointer or zero.

    Parameters
    ----------
    name : str, optional
        The name to bind it by. Default: the parameter's own.
    required : bool
        Raise a LaunchError if nothing is bound at a call.
    """

    name: str | None = None
    _: KW_ONLY
    required: bool = False


def bound_param(text: str) -> Param:
    """Parse one of a module's `bound_params`; if it is only a name, its type has no text."""
    from ..kernels.types import CxxType, Param, parse_params

    if text.isidentifier():
        return Param(text, CxxType("", "raw", None))
    with told(f"bound_params: {text!r}"):
        declared = parse_params(text)
        if len(declared) != 1:
            raise ValueError(f"expected one parameter, got {len(declared)}: pass each separately")
    return declared[0]
