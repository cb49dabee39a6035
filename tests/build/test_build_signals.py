"""Builds whose process is ended: it ends at once, and so do the programs that it has started."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from cache_crowd import load

import tvmffi_cubin as tc

WRAPPER = "tc.build_inline('w', cpp_sources='int f() { return 1; }', functions='f', use_pch=False)"
KERNEL = "tc.build_inline('k', embed_cubin=sys.argv[1], functions=['k'])"
# g++ and clang++ leave children running. `as` and `ld` have none and take milliseconds.
LONG, SHORT = "sleep 600 & echo >&3; wait; exit", "echo >&3; sleep 0.3"


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    load(0)  # the launcher's object, which another `as` would make
    path = tmp_path_factory.mktemp("image") / "k.cubin"
    source = 'extern "C" __global__ void k() {}'
    path.write_bytes(tc.nvrtc.nvrtc_compile(source, arch="sm_90"))
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize(
    ("build", "tool", "word", "work"),
    [
        pytest.param(WRAPPER, "c++", "-c", LONG, id="compiling"),
        pytest.param(WRAPPER, "c++", "-shared", LONG, id="linking a wrapper"),
        pytest.param(KERNEL, "as", "-o", SHORT, id="assembling"),
        pytest.param(KERNEL, "ld", "-shared", SHORT, id="linking"),
    ],
)
def test_a_build_that_is_ended_leaves_nothing_behind(
    tmp_path, monkeypatch, image, build, tool, word, work, number
):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    script = tmp_path / tool
    caught = f'case " $* " in *" {word} "*) exec 3>{pipe}; {work};; esac'
    script.write_text(f'#!/bin/sh\n{caught}\nexec {shutil.which(tool)} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    code = f"import sys, tvmffi_cubin as tc\n{build}"
    process = subprocess.Popen([sys.executable, "-c", code, image], stderr=subprocess.DEVNULL)
    with pipe.open() as ended:
        ended.readline()
        start = time.monotonic()
        process.send_signal(number)
        assert ended.read() == ""
    assert process.wait() == -number
    assert time.monotonic() - start < 5
