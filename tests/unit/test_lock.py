"""The lock of one builder: who has held it removes its file, and it excludes all the same."""

from __future__ import annotations

import errno
import mmap
import os
import random
import signal
import struct
import threading
import time
from pathlib import Path

import pytest

from tvmffi_cubin.cache import publish
from tvmffi_cubin.cache.publish import builder_lock

WORKERS, ROUNDS, KILLED = 12, 60, 4


def at(folder: Path) -> str:
    return str(folder / "locks" / "x.lock")


def left(folder: Path) -> list[str]:
    return [path.name for path in (folder / "locks").iterdir()]


def test_it_is_free_again_although_a_child_was_forked_meanwhile(tmp_path):
    read, write = os.pipe()
    with builder_lock(at(tmp_path), patience=0):
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(read, 1)  # lives until the test has ended
            os._exit(0)
    try:
        with builder_lock(at(tmp_path), patience=0) as held:
            assert held
    finally:
        os.close(write)
        os.waitpid(child, 0)


def test_ctrl_c_ends_the_wait_for_another_builder(tmp_path):
    with builder_lock(at(tmp_path), patience=0) as held:
        assert held
        main, began = threading.get_ident(), time.monotonic()
        threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt), builder_lock(at(tmp_path), patience=60):
            pass
        assert time.monotonic() - began < 10
        assert len(publish._held) == 1


def test_without_locks_one_goes_on_and_leaves_nothing(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with builder_lock(at(tmp_path), patience=float("inf")) as held:
        assert not held
    assert left(tmp_path) == []


# Many at once: shared memory has a counter that no two may change at once, who does so now, and
# how often each worker has.


def count_up(path: str, board: mmap.mmap, number: int) -> None:
    for _ in range(ROUNDS):
        with builder_lock(path, patience=float("inf")) as held:
            assert held
            (value,) = struct.unpack_from("q", board, 0)
            struct.pack_into("q", board, 8, number)
            time.sleep(random.random() * 2e-4)
            assert struct.unpack_from("q", board, 8) == (number,)
            struct.pack_into("q", board, 0, value + 1)
        (own,) = struct.unpack_from("q", board, 8 * number)
        struct.pack_into("q", board, 8 * number, own + 1)


def start(path: str, board: mmap.mmap, number: int) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            count_up(path, board, number)
            status = 0
        finally:
            os._exit(status)
    return child


def test_many_that_take_and_remove_one_lock_exclude_each_other_though_some_are_killed(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(publish, "_FIRST_PAUSE", 1e-4)
    monkeypatch.setattr(publish, "_LONGEST_PAUSE", 5e-4)
    board = mmap.mmap(-1, 8 * (WORKERS + 2))
    children = [start(at(tmp_path), board, number) for number in range(2, WORKERS + 2)]
    for child in children[:KILLED]:
        time.sleep(random.random() * 0.05)
        os.kill(child, signal.SIGKILL)
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert set(ends[KILLED:]) == {0}
    assert set(ends[:KILLED]) <= {0, -signal.SIGKILL}
    counted, _, *own = struct.unpack_from(f"{WORKERS + 2}q", board)
    assert own[KILLED:] == [ROUNDS] * (WORKERS - KILLED)
    # Of one that was killed the last step may be counted by the one and not by the other.
    assert sum(own) <= counted <= sum(own) + KILLED
    with builder_lock(at(tmp_path), patience=0) as held:
        assert held
    assert left(tmp_path) == []
