"""`LookUps`: what this process looked up in the cache, and what came of it."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import NamedTuple

__all__ = ["CacheEvent", "LookUps", "outcome_of", "seen"]

_MOST_EVENTS = 100


def outcome_of(level: str) -> str:
    """Return what it is called that something was found in a folder of some level."""
    return "hit" if level == "cache" else level


class CacheEvent(NamedTuple):
    """One look-up.

    Attributes
    ----------
    name : str
        The module's.
    outcome : str
        ``"hit"``, from the cache folder; ``"layer"``, from a read-only one; ``"private"``, from
        this process's own; ``"remote"``; ``"built"``; or ``"failed"``, where that did not work.
    reason : str
        Why there was nothing, where there was not; what stands in for the tools that are missing.
    seconds : float
        How long all of it took: looking, waiting, building.
    """

    name: str
    outcome: str
    reason: str
    seconds: float


class LookUps:
    """Counts look-ups and keeps the last hundred."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self.counts = dict.fromkeys(("hit", "layer", "private", "remote", "built", "failed"), 0)
        self.misses = 0
        self.looking_up = self.building = self.waiting = 0.0
        self.events: deque[CacheEvent] = deque(maxlen=_MOST_EVENTS)

    def found(self, name: str, outcome: str, seconds: float, reason: str = "") -> None:
        """Note a look-up that found something at once."""
        with self.guard:
            self.counts[outcome] += 1
            self.looking_up += seconds
            self.events.append(CacheEvent(name, outcome, reason, seconds))

    def missed(
        self, name: str, outcome: str, reason: str, *, looked: float, built: float, total: float
    ) -> None:
        """Note a look-up that found nothing at first, and the seconds that it took."""
        with self.guard:
            self.counts[outcome] += 1
            self.misses += 1
            self.looking_up += looked
            self.building += built
            self.waiting += max(total - looked - built, 0.0)
            self.events.append(CacheEvent(name, outcome, reason, total))


seen = LookUps()
"""Those of this process."""


def _in_child() -> None:
    # The parent's are not the child's, and another thread may have held the lock.
    seen.guard = threading.Lock()
    seen.clear()


os.register_at_fork(after_in_child=_in_child)
