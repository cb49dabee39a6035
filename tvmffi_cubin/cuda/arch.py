"""Architectures: those to compile for, from what the caller said or from the current device."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache

from .. import config
from ..errors import ToolchainError

Archs = Sequence[str] | str | None
"""One architecture, or several; None for that of the current device."""

_NAME = re.compile(r"(sm|compute)_([1-9][0-9]{1,2})([af]?)\Z")
_FIRST = {"": 0, "a": 90, "f": 100}
_KNOWN = frozenset(
    (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121)
)
# Every NVRTC that this package takes (12.6 or newer) compiles for devices up to these.
_KNOWN_TO_ALL = 90
_VARIABLE = "TVMFFI_CUBIN_ARCH"


def check_arch(arch: object, *, what: str = "arch") -> str:
    """Return the architecture that a caller named, unchanged, once its form is seen to be right.

    Whether an NVRTC knows it is for that NVRTC to say. Messages call it `what`.
    """
    if not isinstance(arch, str):
        wanted = f"sm_{arch}" if type(arch) is int else "sm_90a"
        raise TypeError(
            f"{what} must be a string, got {type(arch).__name__} {arch!r}; "
            f'pass for example arch="{wanted}"'
        )
    match = _NAME.match(arch)
    if match is None:
        remedy = (
            'wanted is "sm_" with a number, such as "sm_80" or "sm_90a", or "compute_90" for PTX'
        )
        if re.search(r"[,;\s]", arch.strip()):
            remedy = 'several are a list, such as arch=["sm_80", "sm_90a"]'
            if what.startswith(_VARIABLE):
                remedy = f"several are separated by commas, as in {_VARIABLE}=sm_80,sm_90a"
        raise ValueError(f"{what}={arch!r}: {remedy}")
    kind, number, suffix = match[1], int(match[2]), match[3]
    if number < _FIRST[suffix]:
        raise ValueError(
            f"{what}={arch!r}: architectures have a variant {suffix!r} from sm_{_FIRST[suffix]} "
            f'on; pass arch="{kind}_{number}"'
        )
    if kind == "compute" and suffix:
        raise ValueError(
            f"{what}={arch!r}: PTX of an architecture with {suffix!r} runs on "
            f"{'that one' if suffix == 'a' else 'that family'} alone, not on newer ones; "
            f'pass "compute_{number}" for PTX, "sm_{number}{suffix}" for a cubin'
        )
    return arch


def check_archs(archs: object, *, what: str = "arch") -> tuple[str, ...]:
    """Return the architectures that a caller named, each once, in an order that is always the same.

    Cubins come first, oldest architecture first; then PTX.
    """
    if isinstance(archs, str | bytes) or not isinstance(archs, Iterable):
        return (check_arch(archs, what=what),)
    named = {check_arch(arch, what=f"{what}[{i}]") for i, arch in enumerate(archs)}
    if not named:
        raise ValueError(f'{what} is empty; name at least one, such as "sm_90a", or leave it out')
    return tuple(sorted(named, key=_order))


def _order(arch: str) -> tuple[bool, int, int]:
    return is_ptx(arch), number_of(arch), {"f": 1, "a": 2}.get(arch[-1], 0)


def split(text: str) -> list[str]:
    """Return the architectures of a text that separates them by commas, unchecked."""
    return [part.strip() for part in text.split(",") if part.strip()]


def resolve_archs(
    archs: object = None,
    *,
    known: Callable[[], Collection[int]] | None = None,
    newer: str = "a newer NVRTC may know it, run: pip install --upgrade 'tvmffi-cubin[cu13]'",
) -> tuple[str, ...]:
    """Return the architectures to compile for.

    Where none is named: what ``TVMFFI_CUBIN_ARCH`` names, else the current device's, 0's where the
    thread has no context, with the ``a`` suffix where the architecture has one. `known` gives the
    numbers that can be compiled for, and is asked about a device that not every NVRTC knows: of one
    that is not among them, the newest architecture whose cubins it runs takes the place, else PTX.
    `newer` says what to do then.
    """
    if archs is not None:
        return check_archs(archs)
    if text := config.get(_VARIABLE):
        return check_archs(split(text), what=_VARIABLE)
    try:
        from . import driver

        device = driver.require()
        found = device.device_arch(device.current_device())
    except (ToolchainError, ValueError) as error:
        raise ToolchainError(
            f"no GPU to compile for: {error}; building works without one: say which architecture "
            f'you want, for example arch="sm_90a" or {_VARIABLE}=sm_90a'
        ) from None
    number = number_of(found)
    own = _most_specific(number)
    if number <= _KNOWN_TO_ALL or known is None:
        return (own,)
    closest = _closest(number, known())
    if closest != own:
        _warn(
            f"the installed compiler does not know the current device's {found}: compiling for "
            f"{closest}, which that device runs, too; {newer}"
        )
    return (closest,)


def resolve_arch(arch: str | None = None) -> str:
    """Return the one architecture to make a cubin for, as `resolve_archs` has it."""
    found, *more = resolve_archs(arch)
    if more:
        raise ValueError(f"one architecture is wanted, got {', '.join((found, *more))}")
    if is_ptx(found):
        raise ValueError(
            f"{found} is PTX, and code of a real architecture is wanted: pass "
            f'arch="sm_{number_of(found)}"'
        )
    return found


@cache
def _warn(text: str) -> None:
    """Log a warning once a process."""
    logging.getLogger("tvmffi_cubin").warning(text)


def _most_specific(number: int) -> str:
    return f"sm_{number}a" if number >= _FIRST["a"] else f"sm_{number}"


def _closest(number: int, known: Collection[int]) -> str:
    """Return what a device runs of the architectures that are known; its own where none is."""
    if number in known:
        return _most_specific(number)
    older = [other for other in known if other < number]
    # Cubins run on higher minor versions of their major version, without the `a`.
    same_major = [other for other in older if other // 10 == number // 10]
    if same_major:
        return f"sm_{max(same_major)}"
    return f"compute_{max(older)}" if older else _most_specific(number)


def number_of(arch: str) -> int:
    """Return the number in an architecture's name, 90 for ``"sm_90a"`` and ``"compute_90"``."""
    return int(arch.partition("_")[2].rstrip("af"))


def is_ptx(arch: str) -> bool:
    """Return whether an architecture's name asks for PTX."""
    return arch.startswith("compute_")


def is_known(number: int) -> bool:
    """Return whether there are devices of this architecture number."""
    return number in _KNOWN
