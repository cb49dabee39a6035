"""What is kept beside the installed package, as bytecode is, and outlasts cache folders."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from .cache.private import check_room
from .cache.store import Cache

if TYPE_CHECKING:
    from .inline.tools import Toolset

__all__ = ["cache_beside", "is_writable", "make_readable", "path_beside"]


def path_beside(name: str) -> Path:
    """Return the path of a cache beside the package, which need not exist."""
    return Path(os.path.dirname(os.path.abspath(__file__)), "__pycache__", name)


def is_writable(path: Path) -> bool:
    """Whether such a cache may be written, or made where there is none."""
    return os.access(_existing(path), os.W_OK | os.X_OK)


def make_readable(path: Path) -> None:
    """Make the folder of such a cache where there is none, for all who may read the package.

    A cache makes its own folder for its user alone.
    """
    with contextlib.suppress(OSError):
        os.makedirs(path, mode=0o755, exist_ok=True)


def cache_beside(name: str, cache: Cache, tools: Toolset) -> Cache:
    """Return the cache beside the package, of `cache`'s mode.

    Where it may not be written, or has no room, return `cache`, which is looked through after it:
    who has installed the package may have had something made.
    """
    path = path_beside(name)
    if is_writable(path) and _has_room(path):
        if cache.mode == "on":
            make_readable(path)
        return Cache(path, roots=tools.roots, mode=cache.mode)
    return cache.after(os.fspath(path))


def _has_room(path: Path) -> bool:
    try:
        check_room(_existing(path))
    except OSError:
        return False
    return True


def _existing(path: Path) -> str:
    return os.fspath(next(x for x in (path, *path.parents) if os.path.isdir(x)))
