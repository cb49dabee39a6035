"""Architectures: the one to compile for, from what the caller said or from the current device."""

from __future__ import annotations

import re

from . import driver
from .errors import ToolchainError

__all__ = ["check_arch", "is_known", "number_of", "resolve_arch"]

_REAL = re.compile(r"sm_([1-9][0-9]{1,2})([af]?)\Z")
_FIRST_SPECIFIC = 90
_FIRST_FAMILY = 100
_KNOWN = frozenset(
    (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121)
)


def check_arch(arch: object) -> str:
    """Return the architecture that a caller named, unchanged, once its form is seen to be right.

    Whether an NVRTC knows it is for that NVRTC to say.

    Parameters
    ----------
    arch : object
        Wanted: ``"sm_90"``, ``"sm_90a"`` (features of this architecture alone), ``"sm_100f"``
        (features of its family).

    Raises
    ------
    TypeError
        It is no string.
    ValueError
        It names no architecture that an image can be made for.
    """
    if not isinstance(arch, str):
        wanted = f"sm_{arch}" if type(arch) is int else "sm_90a"
        raise TypeError(
            f"arch must be a string, got {type(arch).__name__} {arch!r}; "
            f'pass for example arch="{wanted}"'
        )
    match = _REAL.match(arch)
    if match is None:
        virtual = re.match(r"(?:compute|lto)_(\d+[af]?)\Z", arch)
        remedy = (
            f'an image needs a real architecture, pass arch="sm_{virtual[1]}"'
            if virtual
            else 'wanted is "sm_" with a number, such as "sm_80" or "sm_90a"'
        )
        raise ValueError(f"arch={arch!r}: {remedy}")
    number, suffix = int(match[1]), match[2]
    first = {"": 0, "a": _FIRST_SPECIFIC, "f": _FIRST_FAMILY}[suffix]
    if number < first:
        raise ValueError(
            f"arch={arch!r}: architectures have a variant {suffix!r} from sm_{first} on; "
            f'pass arch="sm_{number}"'
        )
    return arch


def resolve_arch(arch: str | None = None) -> str:
    """Return the architecture to compile for.

    Parameters
    ----------
    arch : str, optional
        As in `check_arch`, returned as it is. None: the current device's, 0's where the thread
        has no context, with the ``a`` suffix where the architecture has one.

    Raises
    ------
    TypeError, ValueError
        As in `check_arch`.
    ToolchainError
        None was given and there is no device.
    """
    if arch is not None:
        return check_arch(arch)
    try:
        found = driver.device_arch(driver.current_device())
    except (ToolchainError, ValueError) as error:
        raise ToolchainError(
            f"no GPU to compile for: {error}; without one, say which architecture you want, "
            'for example arch="sm_90a"'
        ) from error
    return found + "a" if number_of(found) >= _FIRST_SPECIFIC else found


def number_of(arch: str) -> int:
    """Return the number in an architecture's name, 90 for ``"sm_90a"``."""
    return int(arch[len("sm_") :].rstrip("af"))


def is_known(number: int) -> bool:
    """Return whether there are devices of this architecture number."""
    return number in _KNOWN
