"""`size_of`: how many bytes something takes on the disk."""

from __future__ import annotations

import contextlib
import os

__all__ = ["entries_of", "size_of", "taken"]


def size_of(folder: str) -> int:
    """Return how many bytes a folder takes on the disk, with all that is in it."""
    size = 0
    # A build may go on in it, or have made folders that nobody may read.
    with contextlib.suppress(FileNotFoundError, PermissionError):
        size = taken(os.lstat(folder))
        for entry in entries_of(folder):
            if entry.is_dir(follow_symlinks=False):
                size += size_of(entry.path)
            else:
                size += taken(entry.stat(follow_symlinks=False))
    return size


def taken(info: os.stat_result) -> int:
    """Return how many bytes a file takes, from what `os.lstat` says of it."""
    # Of a file that is not written out yet, or is compressed, the blocks may be none.
    return max(info.st_blocks * 512, info.st_size)


def entries_of(path: str) -> list[os.DirEntry[str]]:
    """Return what is in a folder, which need not be there."""
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except FileNotFoundError:
        return []
