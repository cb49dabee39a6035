"""`builder_lock`: one builder per key where the file system can do it, and never a hang."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Iterator

from .files import remove
from .folder import make_folder

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.05
# After how many seconds those who wait are told for what.
_TOLD = 5.0

# The descriptors whose locks this process holds or waits for. A forked child has them, too, and
# would keep what they lock for ever where its parent is killed.
_held: set[int] = set()


def _close_inherited() -> None:
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_inherited)


@contextlib.contextmanager
def builder_lock(path: str, *, patience: float, name: str = "a file") -> Iterator[bool]:
    """Hold the lock file at `path`, or after `patience` seconds go on without; yields which.

    The lock saves work and guards nothing: what two builders publish is the same. It is a `flock`,
    which the kernel drops with the process that holds it. `name` says what is built.
    """
    owner, descriptor = os.getpid(), _acquire(path, patience, name)
    try:
        yield descriptor >= 0
    finally:
        # Of a forked child that leaves this block as well, the lock is its parent's.
        if descriptor >= 0 and os.getpid() == owner:
            # Before it is unlocked: after that it may be another's.
            with contextlib.suppress(OSError):
                os.unlink(path)
            _release(descriptor)


def _release(descriptor: int) -> None:
    _held.discard(descriptor)
    # For children that were not forked by Python as well, which have the same lock.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _acquire(path: str, patience: float, name: str) -> int:
    """Return the descriptor of the locked file; -1 where it is not to be had."""
    began, pause, is_told = time.monotonic(), _FIRST_PAUSE, False
    while True:
        descriptor, is_locked = -1, False
        try:
            make_folder(os.path.dirname(path))
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            _held.add(descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Who held it before has removed it: to lock a file that nobody finds excludes nobody.
            is_locked = os.fstat(descriptor).st_nlink > 0
            if is_locked:
                return descriptor
        except BlockingIOError:
            pass  # another holds it
        except OSError:
            # It cannot be written, or the file system has no locks.
            remove(path)
            return -1
        finally:
            if descriptor >= 0 and not is_locked:
                _release(descriptor)
        waited = time.monotonic() - began
        if waited >= patience:
            return -1
        if waited >= _TOLD and not is_told:
            is_told = True
            until = (
                "" if patience == float("inf") else f"; after {patience:.0f} s this one does, too"
            )
            logger = logging.getLogger("tvmffi_cubin")
            logger.warning("waiting for another process, which builds %s%s", name, until)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
