"""The same work for several inputs in threads."""

import os
import threading

import pytest

from tvmffi_cubin.cuda.program import in_parallel


def test_results_come_in_order_from_threads_that_work_at_once(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    meeting = threading.Barrier(3, timeout=60)

    def work(item):
        meeting.wait()
        return item

    assert in_parallel(work, range(3)) == [0, 1, 2]


def test_of_several_failures_the_first_inputs_is_raised(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)

    def fail(item):
        raise ValueError(f"input {item}")

    with pytest.raises(ValueError, match="input 0"):
        in_parallel(fail, range(4))
