"""Lets no process fork, or end, in the middle of CUDA's compilers and linkers.

They lock something of their own while they work. A child that was forked in between inherits the
lock and not the thread that would release it: its first compilation would wait for ever. And the
end of a process takes away what they work with: a daemon thread in there would crash.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["not_forking"]

# Seconds for which a thread stays out while another forks. Longer than a fork takes; it is all that
# passes where the forking thread waits, in another hook, for a lock that this thread holds.
_PATIENCE = 1.0


class _Guard:
    """Which threads are inside a library, and which fork, or end the process, or wait to."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.inside: list[int] = []
        self.forking: set[int] = set()
        self.ending: set[int] = set()

    def enter(self) -> None:
        me = threading.get_ident()
        with self.changed:
            # Inside already: a signal's handler compiles, and who forks waits for this thread.
            if me not in self.inside:
                self.changed.wait_for(
                    lambda: not (self.forking | self.ending) - {me}, timeout=_PATIENCE
                )
            self.inside.append(me)

    def leave(self) -> None:
        with self.changed:
            self.inside.remove(threading.get_ident())
            self.changed.notify_all()

    def before_fork(self) -> None:
        with self.changed:
            self.forking.add(threading.get_ident())
            self._wait_for_others()

    def before_end(self) -> None:
        with self.changed:
            self.ending.add(threading.get_ident())
            self._wait_for_others()

    def _wait_for_others(self) -> None:
        # Not for itself: a signal's handler may fork amid a compilation.
        me = threading.get_ident()
        self.changed.wait_for(lambda: not set(self.inside) - {me})

    def after_fork(self) -> None:
        # Python forks all the same where Ctrl-C ends the wait, or comes before it.
        with self.changed:
            self.forking.discard(threading.get_ident())
            self.changed.notify_all()


_guard = _Guard()


def _before() -> None:
    _guard.before_fork()


def _before_end() -> None:
    _guard.before_end()


def _after_in_parent() -> None:
    _guard.after_fork()


def _after_in_child() -> None:
    global _guard
    # Threads that the child does not have may hold the old one's lock, or be inside.
    _guard = _Guard()


os.register_at_fork(
    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)
# Threads that a process waits for have ended by then, and what is left of its end is short. But not
# where another function that is called at the end waits for a thread that compiles.
atexit.register(_before_end)


@contextmanager
def not_forking() -> Iterator[None]:
    """Have `os.fork` in other threads, and the end of the process, wait for a with statement.

    Nothing in it may wait for another lock, such as logging's: the thread that forks may hold that.
    """
    guard = _guard
    guard.enter()
    try:
        yield
    finally:
        guard.leave()
