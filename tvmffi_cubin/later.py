"""`Later`: a result that another thread works out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Later"]

_T = TypeVar("_T")


class Later(Generic[_T]):
    """Work that begins at once, in a thread of its own; for work that leaves Python alone."""

    def __init__(self, work: Callable[[], _T]) -> None:
        self._work = work
        self._value: _T
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:
            self._error = error

    def result(self) -> _T:
        """Wait for the result; raises what the work raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._value
