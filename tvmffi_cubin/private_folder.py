"""What happens to a build's private folder before it is published, or instead."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from .atomic import fsync_path

__all__ = ["flush", "outside", "prune", "remove"]


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


def remove(directory: str) -> None:
    """Remove a folder with all that is in it; what cannot be removed stays."""
    if os.path.lexists(directory):
        import shutil

        shutil.rmtree(directory, ignore_errors=True)
