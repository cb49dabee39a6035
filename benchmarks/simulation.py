"""A discrete simulation: processes are generators that yield how long they do something."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Generator
from typing import Any

Process = Generator["float | Lock", None, Any]


class Lock:
    """Held by one process at a time; the others wait in line."""

    def __init__(self) -> None:
        self.is_held = False
        self.waiting: deque[Process] = deque()


class Clock:
    """Runs processes in the order of their times."""

    def __init__(self) -> None:
        self.now = 0.0
        self._number = itertools.count()
        self._queue: list[tuple[float, int, Process]] = []

    def start(self, process: Process, *, after: float = 0.0) -> None:
        """Have a process begin, or go on."""
        heapq.heappush(self._queue, (self.now + after, next(self._number), process))

    def release(self, lock: Lock) -> None:
        """Give a lock to the next in line."""
        lock.is_held = bool(lock.waiting)
        if lock.waiting:
            self.start(lock.waiting.popleft())

    def run(self) -> None:
        """Run until nothing is left to do."""
        while self._queue:
            self.now, _, process = heapq.heappop(self._queue)
            for wanted in process:
                if isinstance(wanted, Lock):
                    if not wanted.is_held:
                        wanted.is_held = True
                        continue
                    wanted.waiting.append(process)
                else:
                    self.start(process, after=wanted)
                break
