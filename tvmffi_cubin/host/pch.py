"""Whether precompiled headers may be used, and whether there is room for more."""

from __future__ import annotations

import os
from pathlib import Path

from .. import config

# One file takes 15 to 80 MB. Where there is less room than this many bytes, none is made.
_LEAST_ROOM = 512 << 20


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


def has_room(folder: Path) -> bool:
    """Whether files of this size may be written to a folder, which need not exist yet."""
    # Not Path.is_dir, which raises where a folder above cannot be searched.
    while not os.path.isdir(folder) and folder != folder.parent:
        folder = folder.parent
    try:
        space = os.statvfs(folder)
    except OSError:
        return False
    # Some file systems know no sizes.
    is_full = space.f_blocks and space.f_bavail * space.f_frsize < _LEAST_ROOM
    return not is_full and os.access(folder, os.W_OK | os.X_OK)
