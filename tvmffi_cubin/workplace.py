"""`Workplace`: the private folder of one build; and the end of those that nobody uses any more."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from .atomic import temporary_name
from .errors import BuildError, CacheError
from .folder import check_room
from .private_folder import CLAIM, remove

__all__ = ["Workplace", "check", "has_failed", "is_claimed", "sweep", "was_removed"]

# What went wrong, in a folder that is kept for inspection.
_ERROR = "error.txt"

_MOST_FAILED = 8

# In seconds. Where a lock may not be seen from here, because its holder's host is another, or is
# not there, as while a folder is published, age alone tells; no build takes this long.
_OLD = 86_400.0

# How often another process may remove the folder that a new one is made in.
_TRIES = 3


@dataclass(frozen=True)
class Workplace:
    """A folder that one build has to itself, for the length of a with statement.

    After a `BuildError` it stays, with the error, among the last few; else what is left is removed.

    Attributes
    ----------
    path : str
        The folder.
    claim : int
        Descriptor of the file whose lock says that the folder is in use.
    """

    path: str
    claim: int

    @staticmethod
    def make(root: str, *, needs_room: bool = True) -> Workplace:
        """Make a folder in ``tmp`` of a cache folder; remove there what nobody uses.

        Parameters
        ----------
        root : str
            The cache folder.
        needs_room : bool
            Whether the disk must have room for a build.

        Raises
        ------
        OSError
            If it cannot be made, or there is too little room.
        """
        parent = os.path.join(root, "tmp")
        sweep(parent)
        place = _make(parent)
        try:
            if needs_room:
                check_room(place.path, root)
        except OSError:
            place.remove()
            raise
        return place

    def __enter__(self) -> Path:
        return Path(self.path)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not isinstance(error, BuildError):
            self.remove()
            return
        with contextlib.suppress(OSError), open(os.path.join(self.path, _ERROR), "wb") as file:
            # Paths may be no valid text.
            file.write(str(error).encode("utf-8", "backslashreplace"))
        self._release()
        sweep(os.path.dirname(self.path))

    def remove(self) -> None:
        """End the use; what is left of the folder is removed."""
        remove(self.path)
        self._release()

    def _release(self) -> None:
        # For forked children as well, which have the same lock.
        with contextlib.suppress(OSError):
            fcntl.flock(self.claim, fcntl.LOCK_UN)
        os.close(self.claim)


def sweep(parent: str) -> None:
    """Remove folders whose builders were killed, and of those that failed all but the last few."""
    failed = []
    for path in _folders(parent):
        try:
            failed.append((os.stat(os.path.join(path, _ERROR)).st_mtime_ns, path))
        except OSError:
            claimed = is_claimed(path)
            if not claimed and (claimed is not None or _is_old(path)):
                remove(path)
    for _, path in sorted(failed)[:-_MOST_FAILED]:
        remove(path)


def check(directory: Path) -> None:
    """Raise FileNotFoundError where a folder that was built in has been emptied meanwhile."""
    os.stat(directory / CLAIM)


def was_removed(directory: Path, error: Exception) -> bool:
    """Whether a build failed because somebody removed its folder, such as with the whole cache."""
    if isinstance(error, BuildError):
        return not os.path.exists(directory / CLAIM)
    # Not whether the folder is there: a build that is published has left it.
    cause = error.__cause__ if isinstance(error, CacheError) else error
    named = cause.filename if isinstance(cause, FileNotFoundError) else None
    return named is not None and f"{named}/".startswith(f"{directory}/")


def is_claimed(path: str) -> bool | None:
    """Whether a living build uses a folder; None where the folder does not tell."""
    try:
        descriptor = os.open(os.path.join(path, CLAIM), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        return True
    try:
        # A new claim is empty until it is locked.
        if os.read(descriptor, 4096) != _host() and not _is_old(path):
            return True
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None  # some network file systems have no locks
    finally:
        os.close(descriptor)
    return False


def has_failed(path: str) -> bool:
    """Whether a folder is kept only for people to look at why its build failed."""
    return os.path.exists(os.path.join(path, _ERROR)) and not is_claimed(path)


def _make(parent: str) -> Workplace:
    path = os.path.join(parent, temporary_name())
    for attempt in range(_TRIES):
        try:
            os.mkdir(path)
            return Workplace(path, _claim(path))
        except FileNotFoundError:
            # Also where somebody removes the whole cache just now.
            if attempt == _TRIES - 1:
                raise
            os.makedirs(parent, exist_ok=True)
    raise AssertionError


def _claim(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(os.path.join(path, CLAIM), flags, 0o666)
    # Some network file systems have no locks: then age alone tells.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    # A disk may be full: then nobody removes it soon.
    with contextlib.suppress(OSError):
        os.write(descriptor, _host())
    return descriptor


def _host() -> bytes:
    return os.fsencode(os.uname().nodename)


def _folders(parent: str) -> list[str]:
    try:
        with os.scandir(parent) as entries:
            found = [entry for entry in entries if _is_name(entry.name)]
            return [entry.path for entry in found if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _is_name(name: str) -> bool:
    # As `temporary_name` makes them.
    process, _, digits = name.partition("-")
    return process.isdecimal() and len(digits) == 16


def _is_old(path: str) -> bool:
    try:
        return os.stat(path).st_mtime < time.time() - _OLD
    except OSError:
        return False
