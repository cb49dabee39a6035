"""Target architectures, from the caller's arguments or from the current device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .. import config
from ..errors import ToolchainError

Archs = Sequence[str] | str | None
"""One architecture, or several; None for the default, see `resolve_archs`."""

_VARIABLE = "TVMFFI_CUBIN_ARCH"


def check_archs(archs: object, *, what: str = "arch") -> tuple[str, ...]:
    """Return the caller's architectures without duplicates: cubins, oldest first, then PTX."""
    if isinstance(archs, str | bytes) or not isinstance(archs, Iterable):
        archs = [archs]
    named = set(map(str, archs))
    for arch in named or {str(archs)}:
        # No regular expression: compiling one would take a twentieth of a cache hit's time.
        kind, _, number = arch.partition("_")
        digits = number[:-1] if kind == "sm" and number.endswith(("a", "f")) else number
        if kind not in ("sm", "compute") or not (digits.isdecimal() and len(digits) in (2, 3)):
            raise ValueError(
                f'{what}: {arch!r} is not an architecture: use "sm_80", "sm_90a" or, for PTX, '
                '"compute_90"; pass several as a list (comma-separated in the variable); omit it '
                "for the current device"
            )
    return tuple(sorted(named, key=lambda x: (is_ptx(x), number_of(x), "fa".find(x[-1]))))


def split(text: str) -> list[str]:
    """Split a comma-separated list of architectures, without checking them."""
    return [part.strip() for part in text.split(",") if part.strip()]


def resolve_archs(arch: Archs = None, options: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the architectures that are compiled for, cubins before PTX, oldest first.

    Parameters
    ----------
    arch : str or sequence of str, optional
        Such as ``"sm_90"``, ``"sm_90a"`` (with architecture-specific features), ``"sm_100f"``
        (with family-specific features) or ``"compute_90"`` (PTX, which the driver compiles for that
        or a newer device). Default: the architectures in `options`, else ``TVMFFI_CUBIN_ARCH``,
        else the current device's (device 0's if the thread has no context), with the ``a`` suffix
        if the architecture has one.
    options : sequence of str
        Options for NVRTC, as in `nvrtc.compile`; nvcc's ``-gencode`` counts, too.

    Raises
    ------
    TypeError, ValueError
        A name is not an architecture, or `arch` and `options` name different ones.
    ToolchainError
        No architecture is given, and there is no device.
    """
    if options:
        from .options import named_archs

        arch = named_archs(options, arch) or None
    if arch is not None:
        return check_archs(arch)
    if text := config.get(_VARIABLE):
        return check_archs(split(text), what=_VARIABLE)
    from . import driver

    try:
        found = driver.device_arch(driver.current_device())
    except ToolchainError as error:
        raise ToolchainError(
            f"no GPU to compile for: {error}; to build without one, set the architecture, "
            f'such as arch="sm_90a" or {_VARIABLE}=sm_90a'
        ) from None
    return (f"{found}a" if number_of(found) >= 90 else found,)


def resolve_arch(arch: str | None = None, options: Sequence[str] = ()) -> str:
    """Return the one architecture that `resolve_archs` returns; a ValueError if there are more."""
    found = resolve_archs(arch, options)
    if len(found) > 1:
        raise ValueError(f"expected one architecture, got {', '.join(found)}")
    return found[0]


def number_of(arch: str) -> int:
    """Return the number in an architecture's name: 90 for ``"sm_90a"`` and ``"compute_90"``."""
    return int(arch.partition("_")[2].rstrip("af"))


def is_ptx(arch: str) -> bool:
    """Return whether an architecture's name stands for PTX."""
    return arch.startswith("compute_")
