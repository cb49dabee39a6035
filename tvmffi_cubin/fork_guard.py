"""Lets no process fork in the middle of CUDA's compilers and linkers.

They lock something of their own while they work. A child that was forked in between inherits the
lock and not the thread that would release it: its first compilation would wait for ever.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["not_forking"]


class _Guard:
    """How many threads are inside a library, and how many wait for none to be, in order to fork."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.inside = 0
        self.forking = 0

    def enter(self) -> None:
        with self.changed:
            # Or threads that compile one thing after another would keep a fork waiting for ever.
            while self.forking:
                self.changed.wait()
            self.inside += 1

    def leave(self) -> None:
        with self.changed:
            self.inside -= 1
            self.changed.notify_all()

    def before_fork(self) -> None:
        self.changed.acquire()
        self.forking += 1
        while self.inside:
            self.changed.wait()

    def after_fork(self) -> None:
        self.forking -= 1
        self.changed.notify_all()
        self.changed.release()


_guard = _Guard()


def _before() -> None:
    _guard.before_fork()


def _after_in_parent() -> None:
    _guard.after_fork()


def _after_in_child() -> None:
    global _guard
    # The lock of the old one may be held for other threads of the parent.
    _guard = _Guard()


os.register_at_fork(
    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)


@contextmanager
def not_forking() -> Iterator[None]:
    """Have `os.fork` in other threads wait while a with statement lasts.

    Nothing in it may wait for another lock, such as logging's, or enter it again: the thread that
    forks may hold that lock already.
    """
    guard = _guard
    guard.enter()
    try:
        yield
    finally:
        guard.leave()
