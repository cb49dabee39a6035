"""Work in threads: in order, and never in more threads than there are processors."""

import os
import threading

import pytest

from tvmffi_cubin.cuda.parallel import in_parallel


class Counter:
    """How many calls of `run` are under way at most."""

    def __init__(self) -> None:
        self.most = self.now = 0
        self.lock = threading.Lock()

    def run(self, item: int) -> int:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        # Long enough that others come in, if any may: they count themselves first.
        threading.Event().wait(0.002)
        with self.lock:
            self.now -= 1
        return item


@pytest.mark.parametrize("processors", [1, 2, 3, 5])
def test_nested_work_has_no_more_threads_than_there_are_processors(monkeypatch, processors):
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    counter = Counter()

    def outer(item):
        return in_parallel(counter.run, [10 * item + inner for inner in range(4)])

    made = in_parallel(outer, range(4))
    assert made == [[10 * item + inner for inner in range(4)] for item in range(4)]
    assert counter.most <= processors


def test_a_lone_input_leaves_all_threads_to_what_is_inside(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    meeting = threading.Barrier(3, timeout=60)

    def inner(item):
        meeting.wait()
        return item

    assert in_parallel(lambda _: in_parallel(inner, range(3)), [0]) == [[0, 1, 2]]


def test_of_several_failures_the_first_inputs_is_raised(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)

    def fail(item):
        raise ValueError(f"input {item}")

    with pytest.raises(ValueError, match="input 0"):
        in_parallel(fail, range(4))


def test_an_error_of_the_work_is_no_want_of_threads(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    runs = []

    def fail(item):
        runs.append(item)
        raise RuntimeError(f"input {item}")

    with pytest.raises(RuntimeError, match="input 0"):
        in_parallel(fail, range(2))
    assert sorted(set(runs)) == sorted(runs)
