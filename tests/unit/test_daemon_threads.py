"""`DaemonThreads`: an executor whose threads nobody waits for."""

from __future__ import annotations

import threading
import weakref

import pytest

from tvmffi_cubin.daemon_threads import DaemonThreads


class Large:
    """A result that would take memory."""


def test_results_and_errors_arrive():
    threads = DaemonThreads(1)
    assert threads.submit(divmod, 7, 2).result(60) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        threads.submit(divmod, 7, 0).result(60)
    assert threads.submit(int, "10", base=2).result(60) == 2


def test_nothing_of_a_call_is_kept():
    threads = DaemonThreads(1)
    is_gone = threading.Event()
    future = threads.submit(Large)
    weakref.finalize(future.result(60), is_gone.set)
    del future
    assert is_gone.wait(60)
