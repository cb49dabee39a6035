"""`Breaker`: after a failure, a pause in which what failed is left alone."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Breaker"]


class Breaker:
    """Says whether something may be tried. Its threads may all use it.

    Parameters
    ----------
    pause : float
        Seconds after a failure in which it may not.
    clock : callable
        Tells the time in seconds.
    """

    def __init__(self, pause: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause = pause
        self._clock = clock
        self._until = float("-inf")

    @property
    def allows(self) -> bool:
        """Whether no failure is so recent."""
        return self._clock() >= self._until

    def trip(self) -> None:
        """Begin a pause."""
        self._until = self._clock() + self._pause
