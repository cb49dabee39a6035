"""What a thread does while programs that it has started work for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["reserve", "spend"]

_reserved = threading.local()


@contextmanager
def reserve(work: Callable[[], object] | None) -> Iterator[None]:
    """Have the first `spend` of this thread in a with statement do some work.

    It may not be done at all, so it is none that anything relies on.
    """
    _reserved.work = work
    try:
        yield
    finally:
        _reserved.work = None


def spend() -> None:
    """Do the work that is reserved, if there is any; whoever waits for a program calls it."""
    work = getattr(_reserved, "work", None)
    if work is not None:
        _reserved.work = None
        work()
