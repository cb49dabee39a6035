"""Tools that are run, among them one that was written a moment ago."""

import errno
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tvmffi_cubin import tool_process


@pytest.fixture
def tool(tmp_path):
    path = tmp_path / "tool"
    path.write_text('#!/bin/sh\necho "said: $*" "$WORD"\npwd >&2\nexit 3\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def waits(monkeypatch):
    """What the module's `sleep` does besides, and for how long it was called."""
    waits = SimpleNamespace(seconds=[], meanwhile=lambda: None)

    def sleep(seconds):
        waits.seconds.append(seconds)
        waits.meanwhile()

    monkeypatch.setattr(tool_process, "time", SimpleNamespace(sleep=sleep))
    return waits


def busy(times):
    """Return what starts a tool that is busy so many times."""
    answers = iter([OSError(errno.ETXTBSY, "Text file busy", "the/tool")] * times)

    def begin():
        for error in answers:
            raise error
        return "started"

    return begin


def test_a_tool_gives_its_status_and_both_its_streams(tool, waits, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    run = tool_process.run([os.fspath(tool), "a", "b"], environment={"WORD": "w"}, folder=folder)
    assert run == (3, f"said: a b w\n{folder}\n")
    assert not waits.seconds


def test_a_tool_that_is_busy_is_started_once_it_is_free(waits):
    assert tool_process.when_free(busy(3)) == "started"
    assert len(waits.seconds) == 3
    assert sorted(waits.seconds) == waits.seconds


def test_a_tool_that_stays_busy_is_an_error_after_about_a_second(waits):
    with pytest.raises(OSError, match=re.escape("busy: 'the/tool'")) as refused:
        tool_process.when_free(busy(1000))
    assert refused.value.errno == errno.ETXTBSY
    assert 0.5 < sum(waits.seconds) < 2


def test_a_tool_that_is_still_open_for_writing_runs_once_it_is_closed(tool, waits):
    # As a child has it that another thread of this process starts meanwhile.
    with tool.open("a") as file:
        try:
            subprocess.run([tool], capture_output=True, check=False)
        except OSError:
            waits.meanwhile = file.close
            assert tool_process.run([os.fspath(tool)], environment={})[0] == 3
            assert len(waits.seconds) == 1
        else:
            pytest.skip("this kernel runs what is open for writing")


def test_a_tool_that_is_missing_is_an_error_at_once(waits, tmp_path):
    with pytest.raises(FileNotFoundError):
        tool_process.run([os.fspath(tmp_path / "none")], environment={})
    assert not waits.seconds


def test_a_tool_set_apart_leads_a_session_of_its_own():
    command = [sys.executable, "-c", "import os; print(os.getsid(0) == os.getpid())"]
    for is_apart in (False, True):
        run = tool_process.run(command, environment=os.environ, is_apart=is_apart)
        assert run == (0, f"{is_apart}\n")
