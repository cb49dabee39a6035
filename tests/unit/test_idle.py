"""What is reserved for a wait is done once, in the thread that reserved it, and only inside."""

import threading

import pytest

from tvmffi_cubin import idle


def test_the_first_wait_does_what_is_reserved():
    done = []
    with idle.reserve(lambda: done.append(1)):
        assert done == []
        idle.spend()
        idle.spend()
    assert done == [1]


def test_without_a_wait_it_is_not_done():
    done = []
    with idle.reserve(lambda: done.append(1)):
        pass
    idle.spend()
    assert done == []


def test_nothing_may_be_reserved():
    with idle.reserve(None):
        idle.spend()


def test_another_threads_wait_does_nothing():
    done = []
    with idle.reserve(lambda: done.append(1)):
        thread = threading.Thread(target=idle.spend)
        thread.start()
        thread.join()
    assert done == []


def test_what_fails_is_not_tried_again():
    def fail():
        raise ValueError("here")

    with idle.reserve(fail):
        with pytest.raises(ValueError, match="here"):
            idle.spend()
        idle.spend()
