"""Many processes at a cold cache: one builds, all get the right thing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cache_crowd
import pytest
from cache_crowd import (
    CountingCompiler,
    counting_compiler,
    crowd,
    is_right,
    launcher_in_cache,
    load,
)

import tvmffi_cubin as tc

KERNEL = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'


@pytest.fixture(autouse=True)
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder in which there is nothing, the launcher's object neither."""
    # What is imported here need not be imported in each child.
    tc.build_inline("imports", KERNEL, arch="sm_90")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    launcher_in_cache(monkeypatch)
    return tmp_path / "cache"


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingCompiler]:
    with counting_compiler(tmp_path / "bin", monkeypatch) as made:
        yield made


def test_of_64_processes_on_one_cold_key_one_builds(cold, compiler, fresh_driver_stub):
    right = crowd(lambda _: is_right(load(7), 7, fresh_driver_stub), 64)
    assert right == [True] * 64
    assert compiler.runs("module.s") == 1
    assert compiler.runs("launcher.cc") == 1
    assert list((cold / "tmp").iterdir()) == []


def test_of_8_new_pythons_on_one_cold_key_one_builds(
    cold, compiler, fresh_driver_stub, monkeypatch
):
    command = [sys.executable, cache_crowd.__file__, "7"]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    wait, go = os.pipe()
    processes = [
        subprocess.Popen(command, stdin=wait, stdout=subprocess.PIPE, text=True) for _ in range(8)
    ]
    os.close(wait)
    os.close(go)
    outputs = [process.communicate()[0] for process in processes]
    assert outputs == ["True\n"] * 8
    assert compiler.runs("module.s") == 1
    assert compiler.runs("launcher.cc") == 1
    assert list((cold / "tmp").iterdir()) == []
