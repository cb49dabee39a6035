"""What a kernel was compiled to assume of its arguments: multiples of a number, fixed values."""

from __future__ import annotations

from collections.abc import Mapping

from .figures import plain

__all__ = ["checked_multiples", "checked_values"]

_MOST = 2**30


def checked_multiples(what: str, value: object) -> dict[str, int]:
    """Return a mapping of names to powers of two, checked; `what` is what messages call it.

    Raises
    ------
    TypeError, ValueError
        It is none.
    """
    found = _integers(what, value)
    for name, number in found.items():
        if not 1 <= number <= _MOST or number & (number - 1):
            raise ValueError(
                f"{what}[{name!r}] is {number}, wanted a power of two from 1 to 2^30; of an "
                f'integer anything else is a condition, as in when="{name} % {number} == 0"'
            )
    return found


def checked_values(what: str, value: object) -> dict[str, int]:
    """Return a mapping of names to integers, checked; `what` is what messages call it.

    Raises
    ------
    TypeError, ValueError
        It is none.
    """
    found = _integers(what, value)
    for name, number in found.items():
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"{what}[{name!r}] is {number}, which no 64-bit integer can be")
    return found


def _integers(what: str, value: object) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} maps parameter names to integers, got {type(value).__name__}")
    found = {}
    for name, given in value.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise TypeError(f"{what}: {name!r} is not a parameter's name")
        number = plain(given)
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"{what}[{name!r}] is an int, got {type(given).__name__}")
        found[name] = number
    return found
