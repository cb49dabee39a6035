"""Whether precompiled headers may be used."""

from __future__ import annotations

from .. import config


def is_wanted(use_pch: bool | None) -> bool:
    """Return whether precompiled headers may be used, by the caller's wish and the environment's.

    ``TVMFFI_CUBIN_PCH=off`` turns them off for everybody.
    """
    if not isinstance(use_pch, bool | None):
        raise TypeError(f"use_pch is a bool, got {type(use_pch).__name__} {use_pch!r}")
    value = config.get("TVMFFI_CUBIN_PCH")
    if value not in ("on", "off"):
        raise ValueError(f"TVMFFI_CUBIN_PCH={value!r}: wanted 'on' or 'off'; or unset it")
    return use_pch is not False and value != "off"
