"""`clear`: empty a cache folder of what the cache made, and of nothing else."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .claim import is_claimed
from .errors import CacheError
from .folder import HEADERS
from .lock import builder_lock
from .workplace import Workplace, sweep

__all__ = ["Removed", "clear"]

# TVMFFI_CUBIN_CACHE_DIR may name a folder with other things in it by mistake: these names decide
# what is the cache's own.
_FILES = {
    "deps": re.compile(r"[0-9a-f]{32,}\.json\Z"),
    "identity": re.compile(r"[0-9a-f]{32,}\.json\Z"),
}
_LOCKS = {"locks": re.compile(r"[0-9a-f]{32,}\.lock\Z")}
_ENTRY_GROUP = re.compile(r"[0-9a-f]{2}\Z")
_ENTRY = re.compile(r"[0-9a-f]{32,}\Z")
_TEMPORARY = re.compile(r"(\d+)-[0-9a-f]{16}\Z")


@dataclass(frozen=True)
class Removed:
    """What `clear` removed: how many published entries, and how many bytes in all."""

    entries: int
    size: int


def clear(folder: str) -> Removed:
    """Remove all that the cache has made in a folder, except what a living process builds.

    Other processes may use the cache meanwhile: they find an entry whole or not at all.

    Parameters
    ----------
    folder : str
        The cache folder. It need not exist.

    Raises
    ------
    CacheError
        Something cannot be removed.
    """
    try:
        parts = [_clear(part) for part in (folder, os.path.join(folder, HEADERS))]
    except OSError as error:
        raise CacheError(
            f"cache folder {folder} cannot be emptied: {error}; "
            "check who owns it, or set TVMFFI_CUBIN_CACHE_DIR to another folder"
        ) from error
    return Removed(sum(part.entries for part in parts), sum(part.size for part in parts))


def _clear(folder: str) -> Removed:
    size = sum(_remove_lock(path) for path in _own_files(folder, _LOCKS))
    size += sum(_remove_file(path) for path in _own_files(folder, _FILES))
    size += sum(_remove_tree(path) for path in _abandoned(folder))
    sweep(os.path.join(folder, "tmp"))
    found = list(_own_entries(folder))
    if not found:
        return Removed(0, size)
    # Renamed away first: nobody may see a folder that is half gone.
    with Workplace.make(folder, needs_room=False) as grave:
        moved = [target for i, path in enumerate(found) if _move(path, target := f"{grave}/{i}")]
        size += sum(map(_remove_tree, moved))
    return Removed(len(found), size)


def _own_files(folder: str, patterns: Mapping[str, re.Pattern[str]]) -> Iterator[str]:
    for name, pattern in patterns.items():
        for entry in _scan(os.path.join(folder, name)):
            if pattern.match(entry.name) and entry.is_file(follow_symlinks=False):
                yield entry.path


def _own_entries(folder: str) -> Iterator[str]:
    for group in _scan(os.path.join(folder, "entries")):
        if _ENTRY_GROUP.match(group.name) and group.is_dir(follow_symlinks=False):
            for entry in _scan(group.path):
                if _ENTRY.match(entry.name) and entry.is_dir(follow_symlinks=False):
                    yield entry.path


def _abandoned(folder: str) -> Iterator[str]:
    for entry in _scan(os.path.join(folder, "tmp")):
        match = _TEMPORARY.match(entry.name)
        if match and entry.is_dir(follow_symlinks=False):
            claimed = is_claimed(entry.path)
            if not (_is_alive(int(match[1])) if claimed is None else claimed):
                yield entry.path


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def _is_alive(process: int) -> bool:
    if process == os.getpid():
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _remove_lock(path: str) -> int:
    with contextlib.suppress(FileNotFoundError):
        size = os.lstat(path).st_size
        # Who holds one removes it; another's stays.
        with builder_lock(path, patience=0) as held:
            return size if held else 0
    return 0


def _remove_file(path: str) -> int:
    try:
        size = os.lstat(path).st_size
        os.unlink(path)
    except FileNotFoundError:
        return 0
    return size


def _move(path: str, target: str) -> bool:
    try:
        os.rename(path, target)
    except FileNotFoundError:
        return False
    return True


def _remove_tree(path: str) -> int:
    size = 0
    for parent, folders, files in os.walk(path, topdown=False):
        size += sum(_remove_file(os.path.join(parent, name)) for name in files)
        for name in folders:
            remove = os.unlink if os.path.islink(os.path.join(parent, name)) else os.rmdir
            with contextlib.suppress(FileNotFoundError):
                remove(os.path.join(parent, name))
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(path)
    return size
