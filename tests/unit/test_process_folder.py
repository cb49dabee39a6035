"""Temporary folders of processes: gone when these end, and soon where they are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import in_fork, in_new_process

from tvmffi_cubin import workplace
from tvmffi_cubin.process_folder import process_folder

MAKE = "import sys, tvmffi_cubin.process_folder as f; print(f.process_folder(sys.argv[1]))"


def folders(parent: Path) -> list[str]:
    return sorted(str(path) for path in parent.iterdir() if path.is_dir())


def killed(parent: Path) -> Path:
    def work() -> None:
        Path(process_folder(str(parent)), "file").write_text("x")
        os.kill(os.getpid(), signal.SIGKILL)

    before = set(folders(parent))
    with pytest.raises(EOFError):
        in_fork(work)
    (left,) = set(folders(parent)) - before
    return Path(left)


def test_it_is_gone_when_the_process_has_ended(tmp_path):
    made = in_new_process(MAKE, str(tmp_path))
    assert made.startswith(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_gone_when_another_makes_one(tmp_path):
    left = killed(tmp_path)
    assert (left / "file").exists()
    in_new_process(MAKE, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_that_of_a_living_process_stays(tmp_path):
    code = f"{MAKE}; sys.stdout.flush(); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        living = other.stdout.readline().strip()
        in_new_process(MAKE, str(tmp_path))
        assert folders(tmp_path) == [living]
    assert folders(tmp_path) == []


def test_one_that_is_just_being_made_stays(tmp_path, monkeypatch):
    hold = workplace.hold

    def late(descriptor: int) -> None:
        # Between the claim and its lock another looks for what killed processes left.
        in_new_process(MAKE, str(tmp_path))
        hold(descriptor)

    monkeypatch.setattr(workplace, "hold", late)
    assert os.path.isdir(process_folder(str(tmp_path)))


def test_a_forked_child_neither_removes_nor_keeps_its_parents(tmp_path):
    code = (
        "import os, sys, time\n"
        "from tvmffi_cubin.process_folder import process_folder\n"
        "made = process_folder(sys.argv[1])\n"
        "read, write = os.pipe()\n"
        "if os.fork() == 0: sys.exit()\n"
        "os.wait()\n"
        "print(os.path.isdir(made))\n"
        "if os.fork() == 0:\n"
        "    os.close(write); os.close(1); os.read(read, 1); os._exit(0)\n"
        "sys.stdout.flush(); os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "True\n"
    in_new_process(MAKE, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_what_others_have_there_stays(tmp_path):
    others = [tmp_path / "tvmffi_cubin-mine", tmp_path / "other"]
    for folder in others:
        folder.mkdir()
    (tmp_path / "other.claim").write_bytes(os.fsencode(os.uname().nodename))
    (tmp_path / "tvmffi_cubin-link").symlink_to(others[0])
    (tmp_path / "tvmffi_cubin-link.claim").write_bytes(os.fsencode(os.uname().nodename))
    before = sorted(tmp_path.iterdir())
    in_new_process(MAKE, str(tmp_path))
    assert sorted(tmp_path.iterdir()) == before
