"""`DaemonThreads`: an executor for what may hang; no process waits for its threads at its end."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["DaemonThreads"]

_T = TypeVar("_T")

# Of the standard library's executor, which asyncio insists on, only the interface is used: its
# threads are waited for at exit, however long a name server takes to answer one.


class DaemonThreads(ThreadPoolExecutor):
    """A few threads that come as they are needed and stay.

    Parameters
    ----------
    most : int
        How many. When all of them hang, further calls wait.
    """

    def __init__(self, most: int) -> None:
        super().__init__(max_workers=most)
        self._most = most
        self._count = 0
        self._guard = threading.Lock()
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()

    def submit(self, function: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        """Have a thread call a function.

        Raises
        ------
        RuntimeError
            There is none, and none can be started.
        """
        future: Future[_T] = Future()
        with self._guard:
            if self._count < self._most:
                try:
                    threading.Thread(target=self._serve, name="tvmffi_cubin", daemon=True).start()
                    self._count += 1
                except RuntimeError:
                    # As when the process ends: one of those that there are takes it.
                    if not self._count:
                        raise
        self._calls.put((future, lambda: function(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: the threads end with the process."""

    def _serve(self) -> None:
        while True:
            future, call = self._calls.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
            # Nothing of a call is kept while the next is waited for.
            del future, call
