"""Programs of a build: what they print, and that they end with whoever started them."""

import os
import signal
import threading
import time

import pytest

from tvmffi_cubin.host import process

# Leaves a child running when it is ended, as gcc does; both hold the pipe open while they live.
STUBBORN = "exec 3>{}; sleep 600 & echo >&3; wait"


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def run(*command, **options):
    return process.run(command, environment=os.environ, **options)


@pytest.mark.parametrize("is_long", [False, True])
def test_a_program_gives_its_status_and_both_its_streams(tmp_path, is_long):
    script = 'cat; echo "$1"; pwd >&2; exit 3'
    command = ("/bin/sh", "-c", script, "sh", "a b")
    assert run(*command, folder=tmp_path, is_long=is_long) == (3, f"a b\n{tmp_path}\n")


@pytest.mark.parametrize("refusal", ["", "trap '' TERM; "])
def test_an_interrupt_ends_a_program_and_its_children_within_a_second(pipe, refusal):
    main, took = threading.get_ident(), []

    def interrupt():
        with pipe.open() as ended:
            ended.readline()
            # Python loses what comes between its giving its lock away and a system call.
            time.sleep(0.1)
            signal.pthread_kill(main, signal.SIGINT)
            start = time.monotonic()
            ended.read()
            took.append(time.monotonic() - start)

    watcher = threading.Thread(target=interrupt)
    # A shell's background job starts with interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        watcher.start()
        with pytest.raises(KeyboardInterrupt):
            run("/bin/sh", "-c", refusal + STUBBORN.format(pipe), is_long=True)
    finally:
        signal.signal(signal.SIGINT, before)
    watcher.join(timeout=60)
    assert took[0] < 2


def test_an_error_ends_a_program_that_waits_for_its_input(tmp_path):
    command = ("/bin/sh", "-c", "cat; touch done")
    with pytest.raises(ValueError), process.Program(command, os.environ, tmp_path):
        raise ValueError
    assert not (tmp_path / "done").exists()


def test_a_forked_child_keeps_no_program_waiting_for_its_input():
    with process.Program(("cat",), os.environ, None) as program:
        child = os.fork()
        if child == 0:
            time.sleep(600)
            os._exit(0)
        try:
            program.give(b"given")
            assert program.result() == (0, "given")
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_commands_are_shown_as_they_run_where_that_is_wanted(capfd, monkeypatch):
    command = ("/bin/sh", "-c", "echo said")
    assert run(*command, is_long=True) == (0, "said\n")
    assert capfd.readouterr().err == ""
    with process.shown(True):
        assert run(*command, is_long=True) == (0, "said\n")
        run(*command)
    assert capfd.readouterr().err == "/bin/sh -c 'echo said'\nsaid\n"
    monkeypatch.setenv("TVMFFI_CUBIN_VERBOSE", "1")
    run(*command, is_long=True)
    assert "said\n" in capfd.readouterr().err
