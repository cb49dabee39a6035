"""What happens to a build's private folder before it is published, or instead."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Collection, Iterable

from .atomic import fsync_path
from .entry import Entry, read_entry
from .errors import CacheError

__all__ = ["flush", "move_into_place", "outside", "prune", "remove"]


def outside(paths: Iterable[str], directory: str) -> list[str]:
    """Return the paths, made absolute, that do not lie in the folder."""
    own = (directory.rstrip("/") + "/", os.path.realpath(directory) + "/")
    absolute = (os.path.join(directory, path) for path in paths)
    return [path for path in absolute if not path.startswith(own)]


def prune(directory: str, keep: Collection[str]) -> None:
    """Remove the files whose paths, relative to the folder, are not to be kept, and empty folders.

    Raises
    ------
    OSError
        If one cannot be removed.
    """
    for folder, subfolders, names in os.walk(directory, topdown=False):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.relpath(path, directory) not in keep:
                os.unlink(path)
        for name in subfolders:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                os.unlink(path)
            elif not os.listdir(path):
                os.rmdir(path)


def flush(directory: str) -> None:
    """Flush every file of a folder, and the lists of names, to the disk.

    Raises
    ------
    OSError
        If the disk is full or failing, which some file systems only say now.
    """
    for folder, _, names in os.walk(directory):
        for name in names:
            fsync_path(os.path.join(folder, name))
        fsync_path(folder)


def move_into_place(directory: str, target: str, *, grave: str) -> Entry:
    """Rename a folder to its place; a whole entry that is there already is used instead.

    Parameters
    ----------
    directory : str
        The folder. It stays where it is when it loses.
    target : str
        Where the entry belongs.
    grave : str
        A path that nobody uses, for a damaged entry in that place.

    Raises
    ------
    OSError
        If the file system does not let it.
    CacheError
        If the entry is damaged as soon as it is in place.
    """
    os.makedirs(os.path.dirname(target), exist_ok=True)
    while True:
        try:
            os.rename(directory, target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            if entry := read_entry(target):
                return entry
            # Renamed before it is removed: nobody sees half a folder.
            os.makedirs(os.path.dirname(grave), exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                os.rename(target, grave)
            remove(grave)
        else:
            break
    fsync_path(os.path.dirname(target))
    entry = read_entry(target)
    if entry is None:
        raise CacheError(
            f"{target} was damaged while it was published; check the file system, or set "
            "TVMFFI_CUBIN_CACHE_DIR to another folder"
        )
    return entry


def remove(directory: str) -> None:
    """Remove a folder with all that is in it; what cannot be removed stays."""
    if os.path.lexists(directory):
        import shutil

        shutil.rmtree(directory, ignore_errors=True)
