"""Builds whose process is ended: it ends at once, and so do the programs that it has started."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CODE = """\
import tvmffi_cubin as tc
tc.build_inline("w", cpp_sources="int f() { return 1; }", functions="f", use_pch=False)
"""


def slow_compiler(folder: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a compiler on PATH that tells a pipe of a step, and then waits."""
    pipe, script = folder / "pipe", folder / "c++"
    os.mkfifo(pipe)
    # As g++ does, it has a child that works.
    caught = f'case " $* " in *" {step} "*) exec 3>{pipe}; sleep 600 & echo >&3; wait; exit;; esac'
    script.write_text(f'#!/bin/sh\n{caught}\nexec {shutil.which("c++")} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return pipe


def ended(process: subprocess.Popen[bytes], pipe: Path, number: int) -> int:
    """Send a signal while the compiler waits; return the status, once nothing runs any more."""
    with pipe.open() as file:
        file.readline()
        start = time.monotonic()
        process.send_signal(number)
        assert file.read() == ""
    status = process.wait()
    assert time.monotonic() - start < 5
    return status


@pytest.mark.parametrize(
    ("step", "number"),
    [("-c", signal.SIGINT), ("-c", signal.SIGTERM), ("-c", signal.SIGKILL), ("-shared", 15)],
)
def test_a_build_that_is_ended_leaves_nothing_behind(tmp_path, monkeypatch, step, number):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    pipe = slow_compiler(tmp_path, step, monkeypatch)
    process = subprocess.Popen([sys.executable, "-c", CODE], stderr=subprocess.DEVNULL)
    assert ended(process, pipe, number) == -number


def test_ctrl_c_ends_what_warm_builds(tmp_path, monkeypatch):
    run = tmp_path / "run"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "TVMFFI_CUBIN_RECORD": str(run)},
        check=True,
    )
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "other"))
    pipe = slow_compiler(tmp_path, "-c", monkeypatch)
    command = [sys.executable, "-m", "tvmffi_cubin", "warm", str(run)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert ended(process, pipe, signal.SIGINT) == 130
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()
