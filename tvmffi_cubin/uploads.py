"""`Uploads`: what was built here goes to the remote behind everybody's back."""

from __future__ import annotations

import logging
import queue
import random
import threading
from collections.abc import Callable

from .deadline import Deadline

__all__ = ["Uploads"]

_logger = logging.getLogger("tvmffi_cubin")

# Hosts that build the same at once would all upload it. Within this many seconds each picks a
# moment of its own, and most find it done; see benchmarks/fleet.py.
_SPREAD = 2.0


class Uploads:
    """A queue, and the thread that works it off."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Deadline, Callable[[], object]]] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._waiting = 0
        self._has_thread = False
        self._is_ending = threading.Event()

    def add(self, upload: Callable[[], object]) -> None:
        """Have a function called soon; it raises nothing.

        Where there is no thread and none can be started, as at a process's end, it is left.
        """
        with self._changed:
            if not self._has_thread:
                try:
                    threading.Thread(target=self._serve, name="tvmffi_cubin", daemon=True).start()
                except RuntimeError as error:
                    _logger.debug("not put into the remote cache: %s", error)
                    return
                self._has_thread = True
            self._waiting += 1
        self._jobs.put((Deadline(random.uniform(0.0, _SPREAD)), upload))

    def finish(self, seconds: float) -> bool:
        """Have all that waits called at once, and wait for it a while; say whether it is done."""
        self._is_ending.set()
        with self._changed:
            return self._changed.wait_for(lambda: self._waiting == 0, timeout=seconds)

    def _serve(self) -> None:
        while True:
            moment, upload = self._jobs.get()
            self._is_ending.wait(moment.left())
            try:
                upload()
            finally:
                with self._changed:
                    self._waiting -= 1
                    self._changed.notify_all()
