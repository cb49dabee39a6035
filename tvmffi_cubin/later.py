"""`Later`: a result that another thread works out; `Begun`: what goes on in the background."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Generic, TypeVar

from .host.environment import variables, with_variables

__all__ = ["Begun", "Later"]

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


class Begun(Generic[_T]):
    """The work that this process has begun in the background and waits for when it ends, by name.

    It sees the environment's variables as they are when it is begun. A forked child has no part in
    it.
    """

    def __init__(self) -> None:
        self._forget()
        # Another thread may hold the guard when the process is forked.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._guard = threading.Lock()
        self._all: dict[Hashable, Later[_T]] = {}

    def get(self, name: Hashable) -> Later[_T] | None:
        """Return the work of a name, None where none was begun."""
        return self._all.get(name)

    def begin(self, name: Hashable, work: Callable[[], _T], *, again: bool = False) -> None:
        """Begin work, unless it was begun before; with `again`, unless it still goes on.

        Raises
        ------
        RuntimeError
            No thread can be started.
        """
        with self._guard:
            begun = self._all.get(name)
            if begun is None or (again and begun.is_done):
                kept = dict(variables())
                self._all[name] = Later(partial(_work_with, kept, work), daemon=False)

    def settle(self) -> None:
        """Wait for all of it, and for what it begins in its turn."""
        waited: set[Hashable] = set()
        while more := [name for name in list(self._all) if name not in waited]:
            for name in more:
                self._all[name].wait()
            waited.update(more)


def _work_with(kept: Mapping[str, str], work: Callable[[], _T]) -> _T:
    with with_variables(kept):
        return work()
