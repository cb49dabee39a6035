"""What becomes of a damaged entry: set aside for people, passed over in a layer, told of once."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import time

from .folder import make_folder
from .removal import move_away, remove

__all__ = ["DAMAGED", "pass_over", "set_aside"]

DAMAGED = "damaged"
"""The folder inside the cache's that holds entries that were set aside."""

_KEPT = 8
_NAME = re.compile(r"\d{20}-[0-9a-f]{32,}\Z")
_WHY = "damage.txt"

_logger = logging.getLogger("tvmffi_cubin")
_told: set[str] = set()


def set_aside(root: str, path: str, reason: str) -> None:
    """Move a damaged entry out of the way, where people find it, and warn.

    Parameters
    ----------
    root : str
        The cache folder.
    path : str
        The entry in it.
    reason : str
        What is wrong with it.

    Raises
    ------
    OSError
        It is still there.
    """
    parent = os.path.join(root, DAMAGED)
    target = os.path.join(parent, f"{time.time_ns():020}-{os.path.basename(path)}")
    make_folder(parent, root)
    try:
        move_away(path, target)
    except FileNotFoundError:
        return  # another process was here first
    _logger.warning("%s was damaged (%s): it is now %s, and is built again", path, reason, target)
    with contextlib.suppress(OSError), open(os.path.join(target, _WHY), "x") as file:
        file.write(f"{path}: {reason}\n")
    with contextlib.suppress(OSError):
        for name in sorted(filter(_NAME.match, os.listdir(parent)))[:-_KEPT]:
            remove(os.path.join(parent, name))


def pass_over(path: str, reason: str) -> None:
    """Warn once of a damaged entry that may not be touched."""
    if path not in _told:
        _told.add(path)
        _logger.warning("%s is damaged (%s): it is passed over", path, reason)
