"""What happens to a build's private folder before it is published, or instead."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable

from .atomic import fsync_path
from .damage import set_aside
from .entry import Entry, read_entry
from .errors import CacheError
from .folder import make_folder, share
from .level import Level
from .removal import remove
from .uses import note
from .verification import Damaged, Missing

__all__ = ["flush", "move_into_place", "outside", "prune", "remove"]

# What `rename` says where something is in the place already.
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
_TRIES = 5


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


def flush(directory: str, loaded: Iterable[str]) -> None:
    """Flush to the disk what a look-up trusts by its stamp; give all files to the group.

    Of the others, which are for people and for compilers that look at an entry, a crash of the
    machine may leave some empty, and `cache verify` tells: to flush all took as long as all else.

    Parameters
    ----------
    directory : str
        A folder that is about to be published.
    loaded : iterable of str
        Names in it, of files that are loaded or read without a look at their content.

    Raises
    ------
    OSError
        If the disk is full or failing, which some file systems only say now.
    """
    for folder, _, names in os.walk(directory):
        for path in (*(os.path.join(folder, name) for name in names), folder):
            share(path)
    for name in loaded:
        fsync_path(os.path.join(directory, name))
    fsync_path(directory)


def move_into_place(directory: str, level: Level, key: str) -> Entry:
    """Rename a folder to its place; a whole entry that is there already is used instead.

    Parameters
    ----------
    directory : str
        The folder. It stays where it is when it loses.
    level : Level
        Where it belongs; what is damaged in that place is set aside.
    key : str
        Its key.

    Raises
    ------
    OSError
        If the file system does not let it; FileNotFoundError, which names `directory`: somebody
        has removed it.
    CacheError
        If the entry is damaged as soon as it is in place.
    """
    if level.kind == "cache":
        note(level.root, key)
    target = level.entry_path(key)
    make_folder(os.path.dirname(target), level.root)
    for _ in range(_TRIES):
        try:
            os.rename(directory, target)
            break
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
            # A file is where a folder above should be. A folder may just have been removed.
            if error.errno == errno.ENOTDIR and not os.path.lexists(target):
                raise
        try:
            return read_entry(target, level=level.kind)
        except Damaged as error:
            set_aside(level.root, target, str(error))
        except FileNotFoundError:
            continue
    else:
        raise OSError(errno.EEXIST, "something else takes this place again and again", target)
    try:
        return read_entry(target, level=level.kind)
    except (Missing, FileNotFoundError):
        # Somebody empties the cache folder: as if the private one had been removed before.
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), directory) from None
    except Damaged as error:
        raise CacheError(
            f"{target} was damaged while it was published ({error}); check the file system, or "
            "set TVMFFI_CUBIN_CACHE_DIR to another folder"
        ) from error
