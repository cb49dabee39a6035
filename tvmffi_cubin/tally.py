"""`Tally`: about how much a cache folder holds, known without looking through it."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import NamedTuple

from .atomic import write_atomically
from .folder import OWN_FILE, SHARED_FILE, is_shared, share

_FILE = "size"
_HEAD = "tvmffi_cubin bytes "

# After some thousands of entries it is time to look what there really is.
_MOST = 64 << 10

# Where no more could be removed, it is tried again when this part of the limit has been added.
_STEP = 20


class Tally(NamedTuple):
    """A file in a cache folder: what there was when it was last looked through, and what came.

    Everybody appends to it and nobody locks it; what is lost by that is found by the next look.

    Attributes
    ----------
    measured : int
        Bytes that there were.
    added : int
        Bytes that were published since.
    """

    measured: int
    added: int

    @staticmethod
    def add(root: str, size: int) -> Tally | None:
        """Count what was published; None where it is time to look through the folder.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(os.path.join(root, _FILE), flags | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.ELOOP):
                raise
            # Another user's, as of one who was root for once; or a link. A new one is written.
            return None
        share(descriptor)
        try:
            os.write(descriptor, b"%d\n" % size)
            return _read(os.pread(descriptor, _MOST + 1, 0))
        finally:
            os.close(descriptor)

    @staticmethod
    def write(root: str, size: int) -> None:
        """Begin anew, with what the folder was found to hold."""
        shared = is_shared()
        mode = SHARED_FILE if shared else OWN_FILE
        with contextlib.suppress(OSError):
            write_atomically(
                os.path.join(root, _FILE), f"{_HEAD}{size}\n".encode(), mode=mode, is_exact=shared
            )

    @staticmethod
    def forget(root: str) -> None:
        """Remove the file."""
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(root, _FILE))

    def exceeds(self, limit: int) -> bool:
        """Whether it is time to remove something."""
        if self.measured <= limit:
            return self.measured + self.added > limit
        return self.added > limit // _STEP


def _read(data: bytes) -> Tally | None:
    head, *lines = data.decode("ascii", "replace").splitlines() or [""]
    numbers = [head.removeprefix(_HEAD), *lines]
    is_right = all(number.isdecimal() and len(number) < 20 for number in numbers)
    if not head.startswith(_HEAD) or not is_right or len(data) > _MOST:
        return None
    measured, *added = map(int, numbers)
    return Tally(measured, sum(added))


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
