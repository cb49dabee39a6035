"""Where precompiled headers are kept: in use or not, room for one more, the oldest removed."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .lock import is_at
from .removal import bury

__all__ = ["Hold", "has_room", "trim", "unless_used"]

# One file takes 15 to 80 MB. Where there is less room than this many bytes, none is made.
_LEAST_ROOM = 512 << 20

_logger = logging.getLogger("tvmffi_cubin")


@dataclass(frozen=True)
class Hold:
    """A folder in use: `trim` leaves it alone until `release`, or until this process ends."""

    folder: str
    descriptor: int

    @staticmethod
    def take(folder: Path) -> Hold | None:
        """Hold a folder; None where it is gone, or about to be."""
        path = os.fspath(folder)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            pass  # some network file systems have no locks; a build without the file still works
        # How `trim` knows which was used last.
        with contextlib.suppress(OSError):
            os.utime(path)
        if is_at(descriptor, path):
            return Hold(path, descriptor)
        os.close(descriptor)
        return None

    def release(self) -> None:
        """Let others remove the folder."""
        # For forked children as well, which have the same lock.
        with contextlib.suppress(OSError):
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        os.close(self.descriptor)

    def discard(self) -> None:
        """Remove the folder, whoever else uses it; release it later all the same."""
        bury(self.folder, os.fspath(Path(self.folder).parents[2]))


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
    if space.f_blocks and space.f_bavail * space.f_frsize < _LEAST_ROOM:
        _logger.debug(
            "no precompiled headers in %s: less than %d MB are free", folder, _LEAST_ROOM >> 20
        )
        return False
    return os.access(folder, os.W_OK | os.X_OK)


@contextlib.contextmanager
def unless_used(path: str) -> Iterator[bool]:
    """Keep builds from beginning to use a folder; yield whether none does.

    Raises
    ------
    OSError
        It cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        is_free = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_free = False
        except OSError:
            pass  # NFS locks nothing that is not open for writing: who uses it goes on without it
        yield is_free
    finally:
        os.close(descriptor)


def trim(folder: Path, *, keep: int) -> None:
    """Remove a cache's entries that nobody uses, but for those used last.

    Parameters
    ----------
    folder : Path
        The cache folder.
    keep : int
        How many may stay, those in use included.
    """
    for _, path in sorted(_entries(folder), reverse=True)[keep:]:
        with contextlib.suppress(OSError), unless_used(path) as is_free:
            if is_free:
                bury(path, os.fspath(folder))


def _entries(folder: Path) -> Iterator[tuple[int, str]]:
    for path in folder.glob("entries/*/*"):
        with contextlib.suppress(OSError):
            yield path.stat().st_mtime_ns, os.fspath(path)
