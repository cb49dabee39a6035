"""Attributes that are worked out when they are asked for first."""

from __future__ import annotations

import signal
import threading

from processes import in_fork

from tvmffi_cubin.computed import computed


class Square:
    def __init__(self, number: int, gate: threading.Event | None = None) -> None:
        self.number = number
        self.gate = gate
        self.inside = threading.Event()
        self.times = 0

    @computed
    def value(self) -> list[int]:
        """The number times itself."""
        self.times += 1
        self.inside.set()
        if self.gate is not None:
            self.gate.wait()
        return [self.number**2]


def test_it_is_worked_out_once_for_each_object():
    two, three = Square(2), Square(3)
    assert two.value is two.value
    assert (two.value, three.value, two.times) == ([4], [9], 1)
    assert Square.value.__doc__ == "The number times itself."


def test_threads_that_work_it_out_side_by_side_get_the_same_object():
    square = Square(2, threading.Event())
    found = []
    threads = [threading.Thread(target=lambda: found.append(square.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    square.inside.wait()
    square.gate.set()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] is square.value


def test_a_child_that_was_forked_while_another_thread_works_it_out_does_not_wait():
    square = Square(2, threading.Event())
    thread = threading.Thread(target=lambda: square.value)
    thread.start()
    square.inside.wait()

    def value() -> list[int]:
        signal.alarm(60)
        return Square(3).value

    try:
        assert in_fork(value) == [9]
    finally:
        square.gate.set()
        thread.join()
