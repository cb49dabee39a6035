"""Emptying a cache folder: all that the cache made, nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tvmffi_cubin import inventory
from tvmffi_cubin.cache_clear import Removed, clear
from tvmffi_cubin.errors import CacheError
from tvmffi_cubin.lock import builder_lock

KEY = "0123456789abcdef" * 4


def published(root: Path, key: str = KEY) -> Path:
    entry = root / "entries" / key[:2] / key
    (entry / "inner").mkdir(parents=True)
    (entry / "k.so").write_bytes(b"12345")
    (entry / "inner" / "source.cc").write_bytes(b"123")
    return entry


def test_a_folder_that_does_not_exist_is_empty_already(tmp_path: Path):
    assert clear(str(tmp_path / "none")) == Removed(0, 0)
    assert not (tmp_path / "none").exists()


def test_entries_and_records_go_and_their_bytes_are_counted(tmp_path: Path):
    entry = published(tmp_path)
    for name in ("deps", "identity"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{KEY}.json").write_bytes(b"{}")
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / f"{KEY}.lock").touch()
    size = inventory.take(str(tmp_path)).size
    assert size > 5 + 3 + 2 + 2
    assert clear(str(tmp_path)) == Removed(1, size)
    assert not entry.exists()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_what_the_cache_did_not_make_stays(tmp_path: Path):
    kept = [
        "notes.txt",
        "deps/requirements.json",
        "entries/readme",
        "entries/ab/mine/file",
        "identity/key.pem",
        "tmp/mine/file",
        "locks/apt.lock",
    ]
    for name in kept:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert clear(str(tmp_path)) == Removed(0, 0)
    assert all((tmp_path / name).exists() for name in kept)


def test_links_are_not_followed(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    root = tmp_path / "cache"
    (published(root) / "link").symlink_to(outside)
    (root / "entries" / "cd").symlink_to(outside)
    assert clear(str(root)).entries == 1
    assert (outside / "file").exists()


def test_builds_of_living_processes_stay_and_those_of_dead_ones_go(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True,
        text=True,
        check=True,
    )
    folders = {}
    for process in (os.getpid(), int(done.stdout)):
        folders[process] = tmp_path / "tmp" / f"{process}-{'0' * 16}"
        folders[process].mkdir(parents=True)
        (folders[process] / "build.ninja").write_text("rule")
    removed = clear(str(tmp_path))
    assert removed.entries == 0
    assert removed.size >= 4
    assert [folder.exists() for folder in folders.values()] == [True, False]


def test_what_cannot_be_removed_is_a_cache_error_that_names_the_folder(tmp_path: Path, monkeypatch):
    published(tmp_path)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "x")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(CacheError, match=f"{tmp_path} cannot be emptied"):
        clear(str(tmp_path))


def test_precompiled_headers_go_too(tmp_path: Path):
    entry = published(tmp_path / "headers")
    assert clear(str(tmp_path)).entries == 1
    assert not entry.exists()


def test_the_lock_of_a_builder_stays(tmp_path: Path):
    path = tmp_path / "locks" / f"{KEY}.lock"
    with builder_lock(str(path), patience=0):
        clear(str(tmp_path))
        assert path.exists()
    assert not path.exists()
