"""`memo_folder`: where memos of tools are kept that the cache folder does not take."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from .folder import OTHERS

__all__ = ["make_room", "memo_folder"]

# Tools are few, and each upgrade leaves the memos of the old ones.
_MOST = 128

_LAST_RESORT = "/tmp"


def memo_folder(*, make: bool = False) -> str | None:
    """Return a folder of this user's own, beside the cache folder; None where there can be none.

    It lies in ``$XDG_RUNTIME_DIR``, or where that will not do in ``$TMPDIR`` or ``/tmp``. What
    somebody else has put in its place is left alone.

    Parameters
    ----------
    make : bool
        Make it where it is missing.
    """
    for folder in _candidates():
        if make:
            with contextlib.suppress(OSError):
                os.mkdir(folder, 0o700)
        if _is_own(folder):
            return os.path.join(folder, "identity")
    return None


def make_room(folder: str, *, most: int = _MOST) -> None:
    """Empty such a folder once there are more files in it; they are written anew."""
    with contextlib.suppress(OSError):
        names = os.listdir(folder)
        if len(names) > most:
            for name in names:
                os.unlink(os.path.join(folder, name))


def _candidates() -> Iterator[str]:
    named = (os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR"), _LAST_RESORT)
    for parent in filter(None, named):
        if os.path.isabs(parent) and _keeps_names(parent):
            yield os.path.join(parent, f"tvmffi-cubin-{os.geteuid()}")


def _keeps_names(parent: str) -> bool:
    # Elsewhere another could put a folder in ours' place between a look and a use.
    try:
        info = os.stat(parent)
    except OSError:
        return False
    # Its owner can, whatever the mode: that of another's session, as `sudo -E` names it.
    is_trusted = info.st_uid in (0, os.geteuid())
    return is_trusted and (not info.st_mode & OTHERS or bool(info.st_mode & stat.S_ISVTX))


def _is_own(folder: str) -> bool:
    try:
        info = os.lstat(folder)
    except OSError:
        return False
    is_ours = info.st_uid == os.geteuid() and not info.st_mode & OTHERS
    return stat.S_ISDIR(info.st_mode) and is_ours
