"""`Later`: a result that another thread works out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Later"]

_T = TypeVar("_T")


class Later(Generic[_T]):
    """Work that begins at once, in a thread of its own; for work that leaves Python alone.

    Where no thread can be started, for a limit or because Python is ending, it is done before this
    returns; but if the process is to wait for it, that is a RuntimeError.

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
        self._thread: threading.Thread | None = threading.Thread(target=self._run, daemon=daemon)
        try:
            self._thread.start()
        except RuntimeError:
            if not daemon:
                raise
            self._thread = None
            self._run()

    def _run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:
            self._error = error

    @property
    def is_done(self) -> bool:
        """Whether `result` will not wait."""
        return self._thread is None or not self._thread.is_alive()

    def wait(self) -> None:
        """Wait until the work has ended, with or without a result."""
        if self._thread is not None:
            self._thread.join()

    def result(self) -> _T:
        """Wait for the result; raises what the work raised."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._value
