"""`Claim`: the locked file beside a private folder that says that its builder lives."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from typing import NamedTuple

from .folder import share
from .lock import hold, is_at, release

__all__ = ["SUFFIX", "Claim", "claim_of", "is_claimed", "is_old", "remove_unused"]

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
