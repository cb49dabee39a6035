"""Tools that are run, among them one that was written a moment ago."""

import errno
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tvmffi_cubin import tool_process


@pytest.fixture
def written(tmp_path):
    """A program that still is open for writing, as it is in a child forked meanwhile."""
    path = tmp_path / "tool"
    path.write_text('#!/bin/sh\necho "said: $*" "$WORD"\npwd >&2\nexit 3\n')
    path.chmod(0o755)
    with path.open("a") as file:
        yield SimpleNamespace(path=os.fspath(path), close=file.close)


@pytest.fixture
def waits(monkeypatch):
    """What `sleep` of the module does, and how often and long it was called."""
    waits = SimpleNamespace(seconds=[], meanwhile=lambda: None)

    def sleep(seconds):
        waits.seconds.append(seconds)
        waits.meanwhile()

    monkeypatch.setattr(tool_process, "time", SimpleNamespace(sleep=sleep))
    return waits


def test_a_tool_gives_its_status_and_both_its_streams(written, waits, tmp_path):
    written.close()
    folder = tmp_path / "folder"
    folder.mkdir()
    run = tool_process.run([written.path, "a", "b"], environment={"WORD": "w"}, folder=folder)
    assert run == (3, f"said: a b w\n{folder}\n")
    assert not waits.seconds


def test_a_tool_that_was_just_written_runs_once_it_is_free(written, waits):
    waits.meanwhile = written.close
    status, output = tool_process.run([written.path], environment={})
    assert (status, output.partition("\n")[0]) == (3, "said:  ")
    assert len(waits.seconds) == 1


def test_a_tool_that_stays_open_for_writing_is_an_error_within_seconds(written, waits):
    with pytest.raises(OSError, match="tool") as refused:
        tool_process.when_free(lambda: subprocess.Popen([written.path]))
    assert refused.value.errno == errno.ETXTBSY
    assert 0.5 < sum(waits.seconds) < 2


def test_a_tool_that_is_missing_is_an_error_at_once(waits, tmp_path):
    with pytest.raises(FileNotFoundError):
        tool_process.run([os.fspath(tmp_path / "none")], environment={})
    assert not waits.seconds


def test_a_tool_set_apart_leads_a_session_of_its_own():
    command = [sys.executable, "-c", "import os; print(os.getsid(0) == os.getpid())"]
    for is_apart in (False, True):
        run = tool_process.run(command, environment=os.environ, is_apart=is_apart)
        assert run == (0, f"{is_apart}\n")
