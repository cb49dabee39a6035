"""Headers that NVRTC precompiles, among threads and processes: shared, bounded, cleaned up."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from nvrtc_pch_kit import folders, in_new_process, ptx, said, source, stored
from processes import in_fork

from tvmffi_cubin.cuda import program
from tvmffi_cubin.cuda.libraries import find_cuda

pytestmark = [
    pytest.mark.usefixtures("own_nvrtc_headers"),
    pytest.mark.skipif(
        not program.load(find_cuda().nvrtc).has_pch, reason="needs NVRTC 12.8 or newer"
    ),
]


# Side by side


def test_threads_make_one_and_share_it(caplog):
    results = {}
    threads = [
        threading.Thread(target=lambda i=i: results.update({i: ptx(source(i + 10))}))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said(caplog)) == ["made", "used", "used", "used"]
    assert [results[i] for i in range(4)] == [ptx(source(i + 10), use_pch=False) for i in range(4)]


def test_nobody_waits_for_a_compilation_that_could_not_begin(monkeypatch, caplog):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as context:
        context.setattr("tvmffi_cubin.device.nvrtc_pch.Later", refuse)
        with pytest.raises(RuntimeError, match="can't start"):
            ptx(source(1))
    results = []
    thread = threading.Thread(target=lambda: results.append(stored(source(2))), daemon=True)
    thread.start()
    thread.join(60)
    assert results == [2]
    assert said(caplog) == ["made"]


def test_a_forked_child_has_a_folder_of_its_own():
    assert stored(source(1)) == 1
    (mine,) = folders()
    value, theirs = in_fork(lambda: (stored(source(2)), folders()))
    assert value == 2
    assert theirs[0].parent != mine.parent
    assert list(mine.iterdir())
    assert stored(source(3)) == 3


@pytest.mark.parametrize("compiles", [False, True])
def test_a_forked_child_that_ends_leaves_the_parents_alone(compiles, temporary):
    work = "compile_it(2)" if compiles else "pass"
    process = in_new_process(
        "import os\n"
        "compile_it(1)\n"
        "sys.stdout.flush()\n"
        f"if os.fork() == 0: {work}; sys.exit()\n"
        "os.wait()\n"
        "compile_it(3)"
    )
    assert process.stdout is not None
    said = [line.split()[1] for line in process.stdout]
    assert said == ["made", "made", "used"] if compiles else said == ["made", "used"]
    assert not list(temporary.iterdir())


def test_there_are_never_more_than_a_few():
    for value in range(6):
        ptx(source(1), options=[f"-DMACRO={value}"])
    assert len(folders()) == 4
    assert len(list(folders()[0].parent.iterdir())) == 4


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """A folder for temporary files in which nobody else works."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_the_folder_goes_with_the_process(temporary):
    process = in_new_process("compile_it(1)")
    assert process.returncode == 0
    assert not list(temporary.iterdir())


def test_what_ends_without_any_clean_up_is_removed_by_the_next_process(temporary):
    ended = in_new_process("compile_it(1)\nimport os\nos._exit(0)")
    assert ended.returncode == 0
    assert len(os.listdir(temporary)) == 1
    assert in_new_process("compile_it(1)").returncode == 0
    assert os.listdir(temporary) == []


def test_what_a_killed_process_has_left_is_removed_by_the_next(temporary):
    killed = in_new_process("compile_it(1)\nprint('done', flush=True)\ninput()", wait=False)
    assert killed.stdout is not None
    while killed.stdout.readline() not in ("done\n", ""):
        pass
    (left,) = temporary.iterdir()
    alive = in_new_process("compile_it(1)")
    assert alive.returncode == 0
    assert left.exists()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert in_new_process("compile_it(1)").returncode == 0
    assert not list(temporary.iterdir())
