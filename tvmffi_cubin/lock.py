"""`builder_lock`: one builder per key where the file system can do it, and never a hang."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

__all__ = ["builder_lock"]

_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.05


@contextlib.contextmanager
def builder_lock(path: str, *, patience: float) -> Iterator[bool]:
    """Hold the lock file at `path`, or go on without it when that takes too long or fails.

    The lock saves work and guards nothing: what two builders publish is the same. The kernel drops
    it with the process that holds it, so that none is ever left behind; hence `flock` and not a
    file whose existence locks.

    Parameters
    ----------
    path : str
        The lock file. It is created with its folder, and stays: to remove it would let two
        builders lock two files of one name.
    patience : float
        How long to wait for another builder, in seconds.

    Yields
    ------
    bool
        Whether the lock is held.
    """
    descriptor = _open(path)
    try:
        yield descriptor >= 0 and _acquire(descriptor, patience)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        try:
            return os.open(path, flags, 0o666)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            return os.open(path, flags, 0o666)
    except OSError:
        return -1


def _acquire(descriptor: int, patience: float) -> bool:
    deadline = time.monotonic() + patience
    pause = _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
        except OSError:
            # Some network file systems have no locks.
            return False
        else:
            return True
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
