"""`Deadline`: until when one call waits, over all that it waits for."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Deadline"]


class Deadline:
    """Counts down from a number of seconds, from now on.

    Parameters
    ----------
    seconds : float
        How long there is.
    clock : callable
        Tells the time in seconds.
    """

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def left(self) -> float:
        """Return how many seconds are left, at least zero."""
        return max(0.0, self._end - self._clock())
