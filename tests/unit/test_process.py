"""Programs of a build: what they print, and what ends them; test_build_signals has interrupts."""

import os
import signal
import time

import pytest

from tvmffi_cubin.host import process


def run(*command, **options):
    return process.run(command, environment=os.environ, **options)


@pytest.mark.parametrize("is_long", [False, True])
def test_a_program_gives_its_status_and_both_its_streams(tmp_path, is_long):
    script = 'cat; echo "$1"; pwd >&2; exit 3'
    command = ("/bin/sh", "-c", script, "sh", "a b")
    assert run(*command, folder=tmp_path, is_long=is_long) == (3, f"a b\n{tmp_path}\n")


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
