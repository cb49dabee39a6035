"""`builder_lock`: one builder per key where the file system can do it, and never a hang."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Iterator

from .files import make_folder, share

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.05
# After how many seconds those who wait are told for whom.
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
    """Hold the lock file at `path`, or go on without it when that takes too long or fails.

    The lock saves work and guards nothing: what two builders publish is the same. The kernel drops
    it with the process that holds it, so that none is ever left behind; hence `flock` and not a
    file whose existence locks. Yields whether it is held. `patience` is in seconds; `name` says
    what is built, for those who wait.
    """
    owner, descriptor = os.getpid(), _acquire(path, patience)
    if descriptor < 0:
        yield False
        return
    try:
        # Only told to people: it may be cut off, or left by an earlier holder.
        text = f"{owner} on {os.uname().nodename}, which builds {name}\n"
        with contextlib.suppress(OSError):
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, text.encode("utf-8", "replace"), 0)
        yield True
    finally:
        # Of a forked child that leaves this block as well, the lock is its parent's.
        if os.getpid() == owner:
            # Before it is unlocked: after that it may be another's.
            if is_at(descriptor, path):
                with contextlib.suppress(OSError):
                    os.unlink(path)
            _release(descriptor)


def _release(descriptor: int) -> None:
    _held.discard(descriptor)
    # For children that were not forked by Python as well, which have the same lock.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def is_at(descriptor: int, path: str) -> bool:
    """Whether a path still leads to the file, or folder, that was opened there."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def _acquire(path: str, patience: float) -> int:
    """Return the descriptor of the locked file; -1 where it is not to be had."""
    began, pause, is_told = time.monotonic(), _FIRST_PAUSE, False
    folder = os.path.dirname(path)
    while True:
        descriptor, is_locked = -1, False
        try:
            make_folder(folder, os.path.dirname(folder))
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(path, flags, 0o666)
            _held.add(descriptor)
            share(descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Who held it before has removed it: to lock a file that nobody finds excludes nobody.
            is_locked = is_at(descriptor, path)
            if is_locked:
                return descriptor
        except BlockingIOError:
            if not is_told and time.monotonic() - began >= _TOLD:
                _tell(descriptor, patience)
                is_told = True
        except OSError:
            # It cannot be written, or the file system has no locks.
            if descriptor >= 0:
                os.unlink(path)
            return -1
        finally:
            if descriptor >= 0 and not is_locked:
                _release(descriptor)
        if time.monotonic() - began >= patience:
            return -1
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _tell(descriptor: int, patience: float) -> None:
    who = os.pread(descriptor, 4096, 0).decode("utf-8", "replace").partition("\n")[0]
    until = "" if patience == float("inf") else f"; after {patience:.0f} s this one builds it, too"
    logger = logging.getLogger("tvmffi_cubin")
    logger.warning("waiting for process %s%s", who or "that builds it", until)
