"""`builder_lock`: one builder per key where the file system can do it, and never a hang."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Iterator
from math import isinf

from .folder import open_made

__all__ = ["builder_lock", "hold", "is_at", "release", "unless_held"]

_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.05

# After how many seconds of waiting it is told, and how loudly.
_TOLD = ((1.0, logging.INFO), (10.0, logging.WARNING))

_MOST_NAME = 200

# How many lock files of one name others may remove, one after the other, before it is given up:
# some file systems give a file a new number whenever it is asked for.
_MOST_FILES = 1000

_logger = logging.getLogger("tvmffi_cubin")

# The descriptors whose locks this process holds or waits for. A forked child has them, too, and
# would keep what they lock for ever where its parent is killed.
_held: set[int] = set()


def _close_inherited() -> None:
    for descriptor in _held:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_inherited)


@contextlib.contextmanager
def builder_lock(path: str, *, patience: float, name: str = "a file") -> Iterator[bool]:
    """Hold the lock file at `path`, or go on without it when that takes too long or fails.

    The lock saves work and guards nothing: what two builders publish is the same. The kernel drops
    it with the process that holds it, so that none is ever left behind; hence `flock` and not a
    file whose existence locks.

    Parameters
    ----------
    path : str
        The lock file. It is created with its folder; who has held it removes it, and one that a
        killed process has left is removed by who holds it next.
    patience : float
        How long to wait for another builder, in seconds; infinite: as long as that lives.
    name : str
        What is built, for those who wait.

    Yields
    ------
    bool
        Whether the lock is held.
    """
    owner = os.getpid()
    descriptor = _acquire(path, patience)
    try:
        if descriptor >= 0:
            _write_holder(descriptor, name)
        yield descriptor >= 0
    finally:
        # Of a forked child that leaves this block as well, the lock is its parent's.
        if descriptor >= 0 and os.getpid() == owner:
            # Before it is unlocked: after that it may be another's.
            if is_at(descriptor, path):
                _unlink(path)
            release(descriptor)


@contextlib.contextmanager
def unless_held(path: str) -> Iterator[bool]:
    """Hold the lock file at `path` unless another does; yield whether nobody else has it.

    Where the file system has no locks, nobody has.
    """
    with builder_lock(path, patience=0) as held:
        yield held or not os.path.lexists(path)


def is_at(descriptor: int, path: str) -> bool:
    """Whether a path still leads to the file, or folder, that was opened there."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def hold(descriptor: int) -> None:
    """Have forked children close a descriptor whose lock is this process's alone."""
    _held.add(descriptor)


def release(descriptor: int) -> None:
    """Unlock and close a descriptor that was given to `hold`."""
    _held.discard(descriptor)
    # For children that were not forked by Python as well, which have the same lock.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _acquire(path: str, patience: float) -> int:
    """Return the descriptor of the locked file; -1 where it is not to be had."""
    waiting = _Waiting(patience)
    for _ in range(_MOST_FILES):
        try:
            # What a link leads to would be emptied.
            descriptor = open_made(path, os.O_NOFOLLOW)
        except OSError:
            return -1
        hold(descriptor)
        is_kept = False
        try:
            is_locked = _lock(descriptor, path, waiting)
            # Who held it before has removed it: to lock a file that nobody finds excludes nobody.
            is_kept = is_locked and is_at(descriptor, path)
        finally:
            if not is_kept:
                release(descriptor)
        if is_kept:
            return descriptor
        if not is_locked:
            return -1
    return -1


class _Waiting:
    """How long one has waited for a lock, however many files it was meanwhile."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.began = time.monotonic()
        self.pause = _FIRST_PAUSE
        self.told = 0

    def goes_on(self, descriptor: int) -> bool:
        """Sleep; False where patience has ended before."""
        waited = time.monotonic() - self.began
        if self.told < len(_TOLD) and waited >= _TOLD[self.told][0]:
            _tell(_TOLD[self.told][1], descriptor, self.patience)
            self.told += 1
        if waited >= self.patience:
            return False
        time.sleep(self.pause)
        self.pause = min(2 * self.pause, _LONGEST_PAUSE)
        return True


def _lock(descriptor: int, path: str, waiting: _Waiting) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not waiting.goes_on(descriptor):
                return False
        except OSError:
            # Some network file systems have no locks.
            _unlink(path)
            return False
        else:
            return True


def _unlink(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _write_holder(descriptor: int, name: str) -> None:
    # Only told to people: it may be cut off, or left by an earlier holder.
    text = f"{os.getpid()} on {os.uname().nodename}, which builds {name[:_MOST_NAME]}\n"
    with contextlib.suppress(OSError):
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, text.encode("utf-8", "replace"), 0)


def _tell(level: int, descriptor: int, patience: float) -> None:
    try:
        lines = os.pread(descriptor, 4096, 0).decode("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    until = "" if isinf(patience) else f"; after {patience:.0f} s this one builds it, too"
    _logger.log(level, "waiting for process %s%s", lines[0] if lines else "that builds it", until)
