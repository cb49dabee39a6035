"""Builds whose process is ended: it ends at once, and so do the programs that it has started."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

CODE = """\
import tvmffi_cubin as tc
tc.build_inline("w", cpp_sources="int f() { return 1; }", functions="f", use_pch=False)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("step", ["-c", "-shared"])
def test_a_build_that_is_ended_leaves_nothing_behind(tmp_path, monkeypatch, step, number):
    pipe, script = tmp_path / "pipe", tmp_path / "c++"
    os.mkfifo(pipe)
    # As g++ does, it has a child that works.
    caught = f'case " $* " in *" {step} "*) exec 3>{pipe}; sleep 600 & echo >&3; wait; exit;; esac'
    script.write_text(f'#!/bin/sh\n{caught}\nexec {shutil.which("c++")} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    process = subprocess.Popen([sys.executable, "-c", CODE], stderr=subprocess.DEVNULL)
    with pipe.open() as ended:
        ended.readline()
        start = time.monotonic()
        process.send_signal(number)
        assert ended.read() == ""
    assert process.wait() == -number
    assert time.monotonic() - start < 5
