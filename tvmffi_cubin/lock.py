"""`builder_lock`: one builder per key where the file system can do it, and never a hang."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Iterator
from math import isinf

__all__ = ["builder_lock"]

_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.05

# After how many seconds of waiting it is told, and how loudly.
_TOLD = ((1.0, logging.INFO), (10.0, logging.WARNING))

_MOST_NAME = 200

_logger = logging.getLogger("tvmffi_cubin")

# The descriptors whose locks this process holds. A forked child has them, too, and would keep what
# they lock for ever where its parent is killed.
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
        The lock file. It is created with its folder, and stays: to remove it would let two
        builders lock two files of one name.
    patience : float
        How long to wait for another builder, in seconds; infinite: as long as that lives.
    name : str
        What is built, for those who wait.

    Yields
    ------
    bool
        Whether the lock is held.
    """
    descriptor = _open(path)
    if descriptor >= 0:
        _held.add(descriptor)
    try:
        held = descriptor >= 0 and _acquire(descriptor, patience)
        if held:
            _write_holder(descriptor, name)
        yield held
    finally:
        # Of a forked child that leaves this block as well, the lock is its parent's.
        if descriptor in _held:
            _held.discard(descriptor)
            # For children that were not forked by Python as well, which have the same lock.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
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
    began = time.monotonic()
    deadline = began + patience
    pause = _FIRST_PAUSE
    told = 0
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            now = time.monotonic()
            if told < len(_TOLD) and now - began >= _TOLD[told][0]:
                _tell(_TOLD[told][1], descriptor, patience)
                told += 1
            if now >= deadline:
                return False
        except OSError:
            # Some network file systems have no locks.
            return False
        else:
            return True
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


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
