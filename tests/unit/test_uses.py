"""What living processes have loaded: noted by each, and gone with it however it ends."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import in_fork, in_new_process

from tvmffi_cubin import uses

A, B, C = ("0a" * 32, "0b" * 32, "0c" * 32)
DAY = 86_400


@pytest.fixture(autouse=True)
def _own_notes() -> Iterator[None]:
    yield
    uses.leave()


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path)


def files(root: str) -> list[Path]:
    folder = Path(root, "uses")
    return sorted(folder.iterdir()) if folder.exists() else []


class Child:
    """A forked child that does something and then lives until it is killed."""

    def __init__(self, work: Callable[[], Any]) -> None:
        read, write = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            try:
                work()
                os.write(write, b"x")
                signal.alarm(60)
                signal.pause()
            finally:
                os._exit(1)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            assert pipe.read(1) == b"x"

    def kill(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def test_a_note_lives_as_long_as_its_process(root):
    child = Child(lambda: uses.note(root, A))
    assert uses.living(root) == {A}
    child.kill()
    assert len(files(root)) == 1
    assert uses.living(root) == set()
    assert files(root) == []


def test_all_keys_of_all_processes_are_known(root):
    uses.note(root, C)
    children = [Child(lambda key=key: uses.note(root, key)) for key in (A, B)]
    assert uses.living(root) == {A, B, C}
    for child in children:
        child.kill()
    assert uses.living(root) == {C}


def test_a_folder_without_notes_is_left_as_it_is(root):
    assert uses.living(root) == set()
    assert files(root) == []


def test_a_second_use_writes_nothing(root):
    uses.note(root, A)
    (file,) = files(root)
    before = file.stat()
    uses.note(root, A)
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def test_each_cache_folder_has_its_own(root):
    other = root + "/headers"
    uses.note(root, A)
    uses.note(other, B)
    assert (uses.living(root), uses.living(other)) == ({A}, {B})


def test_a_process_that_ends_leaves_no_file(root):
    code = "import sys; from tvmffi_cubin import uses; uses.note(sys.argv[1], 'a'); print('ok')"
    assert in_new_process(code, root) == "ok"
    assert files(root) == []


def test_and_takes_away_what_killed_ones_have_left(root):
    for _ in range(3):
        Child(lambda: uses.note(root, A)).kill()
    assert len(files(root)) == 3
    uses.note(root, B)
    uses.leave()
    assert files(root) == []


# Forks


def test_what_a_parent_has_loaded_its_child_has_even_after_the_parents_end(root):
    def work():
        uses.note(root, A)
        return Child(lambda: uses.note(root, B)).process

    grandchild = in_fork(work)
    assert uses.living(root) == {A, B}
    os.kill(grandchild, signal.SIGKILL)
    # Not a child of this process: nobody here can wait for it.
    deadline = time.monotonic() + 30
    while uses.living(root) and time.monotonic() < deadline:
        time.sleep(0.001)
    assert uses.living(root) == set()


def test_a_child_that_ends_takes_nothing_from_its_parent(root):
    uses.note(root, A)
    in_fork(uses.leave)
    in_fork(lambda: uses.note(root, B))
    assert uses.living(root) == {A}
    uses.note(root, C)
    assert uses.living(root) == {A, C}


def test_what_a_child_has_loaded_ends_with_it(root):
    uses.note(root, A)
    child = Child(lambda: uses.note(root, B))
    assert uses.living(root) == {A, B}
    child.kill()
    assert uses.living(root) == {A}


def test_a_parent_that_ends_first_leaves_the_file_to_its_child(root):
    uses.note(root, A)
    child = Child(lambda: None)
    uses.leave()
    assert uses.living(root) == {A}
    child.kill()
    assert uses.living(root) == set()


def test_a_process_with_threads_that_note_can_be_forked(root):
    stop = threading.Event()

    def work(number: int) -> None:
        count = 0
        while not stop.is_set():
            uses.note(root, f"{number:032}{count:032}")
            count += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()

    def forked() -> bool:
        uses.note(root, A)
        return A in uses.living(root)

    assert all(in_fork(forked) for _ in range(20))
    stop.set()
    for thread in threads:
        thread.join()
    assert A not in uses.living(root)
    assert len(files(root)) == 1


def test_a_process_that_is_executed_has_loaded_nothing(root):
    def work():
        uses.note(root, A)
        command = [sys.executable, "-c", "print('up', flush=True); input()"]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    process = None
    try:
        process = work()
        assert process.stdout.readline() == b"up\n"
        uses.leave()
        assert uses.living(root) == set()
        assert files(root) == []
    finally:
        if process is not None:
            process.communicate(b"\n")


def test_a_daemon_that_has_closed_everything_writes_into_no_other_file(root, tmp_path):
    uses.note(root, A)
    other = tmp_path / "other"

    def work():
        os.closerange(3, 100)
        kept = [os.open(other, os.O_RDWR | os.O_CREAT) for _ in range(40)]
        uses.note(root, B)
        return len(kept), uses.living(root), other.read_bytes()

    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 200)
        os.write(200, repr(work()).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert eval(pipe.read()) == (40, {A, B}, b"")
    os.waitpid(child, 0)


# What cannot be written


def test_where_nothing_can_be_written_one_goes_on(root):
    file = Path(root, "uses")
    file.write_text("no folder")
    assert not uses.note(root, A)
    file.unlink()
    # Nor is it tried again and again.
    assert not uses.note(root, A)
    assert not file.exists()


@pytest.mark.parametrize("room", [0, 20])
def test_what_a_full_disk_did_not_take_is_noted_later(root, room, monkeypatch):
    uses.note(root, A)
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if room:
            return write(descriptor, data[:room])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        uses.note(root, B)
    uses.note(root, C)
    uses.note(root, B)
    assert uses.living(root) >= {A, B, C}


def test_a_file_that_somebody_removed_is_made_anew(root):
    uses.note(root, A)
    files(root)[0].unlink()
    uses.note(root, B)
    assert uses.living(root) == {A, B}


# Other hosts, other file systems, other files


def elsewhere(root: str, age: float) -> Path:
    path = Path(root, "uses", f"node-7-12-{'0' * 16}")
    path.parent.mkdir(exist_ok=True)
    path.write_text(f" {A}")
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_another_hosts_process_counts_as_living_for_a_day(root):
    path = elsewhere(root, DAY / 2)
    assert uses.living(root) == {A}
    elsewhere(root, DAY * 2)
    assert uses.living(root) == set()
    assert not path.exists()


def test_what_may_not_be_read_is_in_doubt_for_a_day(root, monkeypatch):
    path = elsewhere(root, DAY / 2)

    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError):
        uses.living(root)
    old = time.time() - 2 * DAY
    os.utime(path, (old, old))
    assert uses.living(root) == set()
    assert path.exists()


def test_without_locks_every_process_does(root, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    Child(lambda: uses.note(root, A)).kill()
    assert uses.living(root) == {A}
    os.utime(files(root)[0], (time.time() - 2 * DAY,) * 2)
    assert uses.living(root) == set()


def test_what_others_keep_in_the_folder_stays(root):
    folder = Path(root, "uses")
    folder.mkdir()
    (folder / "notes.txt").write_text(A)
    (folder / f"h-1-{'0' * 16}").mkdir()
    (folder / f"h-2-{'0' * 16}").symlink_to(folder / "notes.txt")
    assert uses.living(root) == set()
    assert len(files(root)) == 3


def test_a_file_that_is_not_locked_yet_may_be_removed_and_is_made_again(root, monkeypatch):
    lock, removed = uses.fcntl.flock, []

    def slow(descriptor: int, how: int) -> None:
        if not removed:
            removed.append(files(root)[0])
            removed[0].unlink()
        lock(descriptor, how)

    monkeypatch.setattr("fcntl.flock", slow)
    uses.note(root, A)
    monkeypatch.undo()
    assert uses.living(root) == {A}
    assert removed[0] not in files(root)


# When an entry was last used


@pytest.mark.parametrize(("age", "is_new"), [(60, False), (2 * 3600, True), (-DAY, True)])
def test_a_use_makes_young_what_was_not_used_for_an_hour(tmp_path, age, is_new):
    before = time.time()
    os.utime(tmp_path, (before - age,) * 2)
    uses.touch(str(tmp_path))
    used = tmp_path.stat().st_mtime
    assert (before - 1 <= used <= time.time()) == is_new


def test_what_is_gone_is_not_touched(tmp_path):
    uses.touch(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_a_folder_that_takes_no_notes_for_once_takes_them_later(root, monkeypatch):
    def refuse(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr("os.open", refuse)
        assert not uses.note(root, A)
    assert uses.note(root, B)
    assert uses.living(root) == {B}
