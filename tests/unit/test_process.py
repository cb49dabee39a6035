"""Programs of a build: what they print, and what ends them; test_build_signals has interrupts."""

import os
import signal
import threading
import time

import pytest

from tvmffi_cubin.host import process


def run(*command, **options):
    return process.run(command, **options)


def test_an_interrupt_ends_even_a_program_that_refuses_and_its_children(tmp_path):
    pipe, main = tmp_path / "pipe", threading.get_ident()
    os.mkfifo(pipe)

    def interrupt():
        with pipe.open() as ended:
            ended.readline()
            # Python loses what comes between its giving its lock away and a system call.
            time.sleep(0.1)
            signal.pthread_kill(main, signal.SIGINT)
            ended.read()

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    # As gcc does, it has a child; both hold the pipe open while they live.
    script = f"trap '' TERM; exec 3>{pipe}; sleep 600 & echo >&3; wait"
    with pytest.raises(KeyboardInterrupt):
        run("/bin/sh", "-c", script, is_long=True)
    watcher.join(timeout=60)
    assert not watcher.is_alive()


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
