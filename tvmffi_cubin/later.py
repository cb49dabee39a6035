"""`Later`: a result that another thread works out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Later"]

_T = TypeVar("_T")


class Later(Generic[_T]):
    """Work that begins at once, in a thread of its own; for work that leaves Python alone.

    Parameters
    ----------
    work : callable
        Gives the result.
    daemon : bool
        False: a process that ends waits for the work.
    """

    def __init__(self, work: Callable[[], _T], *, daemon: bool = True) -> None:
        self._work = work
        self._value: _T
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=daemon)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:
            self._error = error

    @property
    def is_done(self) -> bool:
        """Whether `result` will not wait."""
        return not self._thread.is_alive()

    def result(self) -> _T:
        """Wait for the result; raises what the work raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._value
