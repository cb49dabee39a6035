"""`Later`: a result that another thread works out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Later(Generic[_T]):
    """Work that begins at once, in a thread of its own; for work that leaves Python alone.

    Where no thread can be started, it is done before this returns. A process that ends does not
    wait for it.
    """

    def __init__(self, work: Callable[[], _T]) -> None:
        self._work = work
        self._value: _T
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._run()

    def _run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:
            self._error = error

    def result(self) -> _T:
        """Wait for the result; raises what the work raised."""
        if self._thread.ident is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self._value
