"""Whether precompiled headers may be used: the argument and the variable that turn them off."""

from __future__ import annotations

from . import config

__all__ = ["is_wanted", "may_lie_beside_package"]


def is_wanted(use_pch: bool | None) -> bool:
    """Return whether precompiled headers may be used.

    Parameters
    ----------
    use_pch : bool or None
        The caller's own wish. ``TVMFFI_CUBIN_PCH=off`` turns them off for everybody.

    Raises
    ------
    TypeError, ValueError
        The argument is no bool, or the variable has an impossible value.
    """
    if not isinstance(use_pch, bool | None):
        raise TypeError(f"use_pch is a bool, got {type(use_pch).__name__} {use_pch!r}")
    return use_pch is not False and _value() != "off"


def may_lie_beside_package() -> bool:
    """Return whether they may be kept in another place than the cache folder.

    Raises
    ------
    ValueError
        The variable has an impossible value.
    """
    return _value() == "on"


def _value() -> str | None:
    value = config.get("TVMFFI_CUBIN_PCH")
    if value not in ("on", "cache", "off"):
        raise ValueError(f"TVMFFI_CUBIN_PCH={value!r}: wanted 'on', 'cache' or 'off'; or unset it")
    return value
