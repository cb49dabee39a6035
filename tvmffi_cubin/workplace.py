"""`Workplace`: the private folder of one build; and the end of those that nobody uses any more."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from .atomic import temporary_name
from .errors import BuildError, CacheError
from .folder import OWN_FOLDER, check_room, make_folder, share
from .lock import hold, is_at, release
from .removal import remove

# In seconds. Where a lock may not be seen from here, since its holder's host is another, or is not
# there, as of a folder of an earlier version's, age alone tells; no build takes this long.
_OLD = 86_400.0

SUFFIX = ".claim"
"""What the name of a folder's claim has in addition."""


class Claim(NamedTuple):
    """What says that a folder is in use. It is there before the folder is, and longer.

    A file, since of a folder network file systems lock nothing that another host would see; and
    beside the folder, which is published without it, and removed file by file.

    Attributes
    ----------
    path : str
        The file, in which its builder's host is.
    descriptor : int
        The kernel drops its lock with the process.
    """

    path: str
    descriptor: int

    @staticmethod
    def make(folder: str) -> Claim:
        """Claim a folder that is not there yet.

        Raises
        ------
        OSError
            The claim cannot be made; FileExistsError: the folder has one, so take another.
        """
        path = claim_of(folder)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        hold(descriptor)
        share(descriptor)
        claim = Claim(path, descriptor)
        # A disk may be full: then nobody removes it soon.
        with contextlib.suppress(OSError):
            os.write(descriptor, _host())
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass  # who looks for what killed builders left has it, and removes it
        except OSError:
            return claim  # some network file systems have no locks: then age alone tells
        else:
            if is_at(descriptor, path):
                return claim
        release(descriptor)
        raise FileExistsError(path)

    def end(self) -> None:
        """Give the folder up, which is published, removed or left to whoever looks for it."""
        # Before it is unlocked: after that it would be one of a builder that was killed.
        _unlink(self.path)
        release(self.descriptor)


def is_claimed(folder: str) -> bool | None:
    """Whether a living build uses a folder; None where nothing tells."""
    return _is_held(claim_of(folder))


def claim_of(folder: str) -> str:
    """Return the path of a folder's claim."""
    return folder + SUFFIX


def remove_unused(path: str) -> None:
    """Remove a claim whose folder is gone; another's, whose folder is not made yet, stays."""
    if not os.path.lexists(path.removesuffix(SUFFIX)):
        held = _is_held(path, unlink=True)
        if held is None and is_old(path):
            _unlink(path)


def is_old(path: str) -> bool:
    """Whether a file or folder is so old that no build uses it any more."""
    try:
        return os.stat(path).st_mtime < time.time() - _OLD
    except OSError:
        return False


def _is_held(path: str, *, unlink: bool = False) -> bool | None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        return True
    try:
        host = os.read(descriptor, 4096)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # One that is not written yet, on a host whose locks are not seen, is lost: then that host
        # builds twice.
        if host not in (_host(), b""):
            return None
        if unlink:
            _unlink(path)
    except BlockingIOError:
        return True
    except OSError:
        return None  # some network file systems have no locks
    finally:
        os.close(descriptor)
    return False


def _unlink(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _host() -> bytes:
    return os.fsencode(os.uname().nodename)


# What went wrong, in a folder that is kept for inspection.
_ERROR = "error.txt"

_MOST_FAILED = 8

# How often another process may remove the folder that a new one is made in.
_TRIES = 3


class Workplace(NamedTuple):
    """A folder that one build has to itself, for the length of a with statement.

    After a `BuildError` it stays, with the error, among the last few; else what is left is removed.

    Attributes
    ----------
    path : str
        The folder.
    claim : Claim
        What says that the folder is in use.
    owner : int
        The process that uses it: a forked child that leaves the statement as well removes nothing.
    """

    path: str
    claim: Claim
    owner: int

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
        elif os.getpid() == self.owner:
            self._keep(error)

    def remove(self) -> None:
        """End the use; what is left of the folder is removed."""
        if os.getpid() == self.owner:
            remove(self.path)
            self.claim.end()

    def _keep(self, error: BuildError) -> None:
        with contextlib.suppress(OSError), open(os.path.join(self.path, _ERROR), "wb") as file:
            # Paths may be no valid text.
            file.write(str(error).encode("utf-8", "backslashreplace"))
        self.claim.end()
        sweep(os.path.dirname(self.path))


def sweep(parent: str) -> None:
    """Remove folders whose builders were killed, and of those that failed all but the last few."""
    failed = []
    folders, claims = _own(parent)
    for path in folders:
        try:
            failed.append((os.stat(os.path.join(path, _ERROR)).st_mtime_ns, path))
        except OSError:
            claimed = is_claimed(path)
            if not claimed and (claimed is not None or is_old(path)):
                remove(path)
    for path in claims:
        remove_unused(path)
    for _, path in sorted(failed)[:-_MOST_FAILED]:
        remove(path)


def check(directory: Path) -> None:
    """Raise FileNotFoundError where a folder that was built in has been removed meanwhile."""
    if not os.path.exists(claim_of(os.fspath(directory))):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(directory))


def was_removed(directory: Path, error: Exception) -> bool:
    """Whether a build failed because somebody removed its folder, such as with the whole cache."""
    if isinstance(error, BuildError | ValueError):
        paths = (claim_of(os.fspath(directory)), os.fspath(directory))
        return not all(os.path.exists(path) for path in paths)
    # Not whether the folder is there: a build that is published has left it.
    cause = error.__cause__ if isinstance(error, CacheError) else error
    named = cause.filename if isinstance(cause, FileNotFoundError) else None
    return named is not None and f"{named}/".startswith(f"{directory}/")


def has_failed(path: str) -> bool:
    """Whether a folder is kept only for people to look at why its build failed."""
    return os.path.exists(os.path.join(path, _ERROR)) and not is_claimed(path)


def _make(parent: str) -> Workplace:
    for attempt in range(_TRIES):
        path = os.path.join(parent, temporary_name())
        try:
            claim = Claim.make(path)
            try:
                os.mkdir(path, OWN_FOLDER)
                share(path)
            except OSError:
                claim.end()
                raise
            return Workplace(path, claim, os.getpid())
        except (FileNotFoundError, FileExistsError):
            # Also where somebody removes the whole cache just now.
            if attempt == _TRIES - 1:
                raise
            make_folder(parent, os.path.dirname(parent))
    raise AssertionError


def _own(parent: str) -> tuple[list[str], list[str]]:
    """Return the folders, and the claims, that processes have made."""
    try:
        with os.scandir(parent) as entries:
            found = [entry for entry in entries if _is_name(entry.name)]
            folders = [entry.path for entry in found if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return [], []
    return folders, [entry.path for entry in found if entry.path.endswith(SUFFIX)]


def _is_name(name: str) -> bool:
    # As `temporary_name` makes them.
    process, _, digits = name.removesuffix(SUFFIX).partition("-")
    return process.isdecimal() and len(digits) == 16
