"""`one_at_a_time`: work that one thread does while others wait, and never in a circle.

Beside `builder_lock`, which does the same for processes: that one sees no circles, and there is
none where the cache folder cannot be written.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

__all__ = ["one_at_a_time"]

_changed = threading.Condition()
# Which thread works on what, and which waits for what.
_workers: dict[str, int] = {}
_waiting: dict[int, str] = {}


def _forget() -> None:
    # A forked child has none of the other threads; what its own one was at is its parent's.
    global _changed
    _changed = threading.Condition()
    _workers.clear()
    _waiting.clear()


os.register_at_fork(after_in_child=_forget)


@contextlib.contextmanager
def one_at_a_time(what: str, *, circle: str) -> Iterator[None]:
    """Wait until no other thread of this process is at the same work, then do it.

    Parameters
    ----------
    what : str
        Tells this work from other work.
    circle : str
        What is wrong where this thread is at it already, or would wait for a thread that waits for
        this one.

    Raises
    ------
    RuntimeError
        It would never end; the message is `circle`.
    """
    here = threading.get_ident()
    with _changed:
        _wait(what, here, circle)
        _workers[what] = here
    try:
        yield
    finally:
        # In a forked child that leaves this block as well there is nothing left to remove.
        with _changed:
            if _workers.get(what) == here:
                del _workers[what]
            _changed.notify_all()


def _wait(what: str, here: int, circle: str) -> None:
    try:
        while (worker := _workers.get(what)) is not None:
            if _leads_to(worker, here):
                raise RuntimeError(circle)
            _waiting[here] = what
            _changed.wait()
    finally:
        _waiting.pop(here, None)


def _leads_to(worker: int | None, here: int) -> bool:
    """Whether a thread is this one, or waits in the end for this one."""
    while worker is not None and worker != here:
        worker = _workers.get(_waiting.get(worker, ""))
    return worker == here
