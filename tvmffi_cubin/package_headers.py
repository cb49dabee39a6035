"""Precompiled headers that are kept beside the package, as its bytecode is: for new cache folders.

What a cache folder is the first to need is copied here. A build in another, which has none yet,
then compiles as fast as those that follow it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from . import inventory, pch
from .cache import Cache
from .dependency_set import find_set
from .entry import MANIFEST, Entry
from .eviction import Removed
from .inventory import Item
from .level import Level
from .package_folder import is_writable, make_readable, path_beside
from .pch_shelf import has_room, trim
from .removal import remove
from .toolset import Toolset
from .workplace import sweep

__all__ = ["clear", "find", "held", "keep"]

# By one set of the compiler's flags: tvm-ffi's headers, those with CUDA's, and with what mixed
# sources need.
_MOST = 3


def find(cache: Cache, tools: Toolset, base_key: str) -> Entry | None:
    """Return the entry of a key, None where there is none."""
    kept = _kept(cache, tools)
    entry = None if kept is None else kept.find(base_key)
    return entry if isinstance(entry, Entry) else None


def keep(cache: Cache, tools: Toolset, base_key: str, made: Entry) -> None:
    """Keep a copy of what was made for a cache, where there is room for it.

    Raises
    ------
    OSError, CacheError, ValueError
        It cannot be copied.
    """
    kept = _kept(cache, tools)
    if kept is None or kept.mode != "on" or not has_room(kept.root):
        return
    found = kept.find(base_key)
    # Which files it was made of was recorded then: they may have changed since.
    level = Level(os.fspath(made.path.parents[2]))
    files = find_set(level.deps_path(base_key), made.key)
    if isinstance(found, Entry) or files is None:
        return
    found.clear_way()
    make_readable(kept.root)
    with kept.private_directory() as directory:
        for name in (MANIFEST, *made.manifest["files"]):
            shutil.copyfile(made.path / name, directory / name)
        kept.adopt(base_key, files, directory)
    trim(kept.root, keep=_MOST)


def held() -> list[Item]:
    """Return those that there are, none where others may not look."""
    return _found("entry")


def clear() -> Removed:
    """Remove all that no build uses, where they may be removed."""
    folder = _folder()
    if not is_writable(folder):
        return Removed()
    there = _found("entry", "build", "damaged")
    trim(folder, keep=0)
    # Of processes that were killed.
    sweep(os.fspath(folder / "tmp"))
    for item in there:
        if item.kind == "damaged":
            remove(item.path)
    gone = [item for item in there if not os.path.lexists(item.path)]
    before, entries = (sum(x.kind == "entry" for x in items) for items in (there, gone))
    return Removed(entries=entries, size=sum(x.size for x in gone), kept=before - entries)


def _found(*kinds: str) -> list[Item]:
    try:
        return inventory.take(os.fspath(_folder())).of(*kinds)
    except OSError:
        return []


def _folder() -> Path:
    return path_beside("precompiled")


def _kept(cache: Cache, tools: Toolset) -> Cache | None:
    if not pch.may_lie_beside_package():
        return None
    folder, mode = _folder(), cache.mode
    # Who has installed the package may have had some made.
    mode = "read" if mode == "on" and not is_writable(folder) else mode
    return Cache(folder, roots=tools.roots, mode=mode)
