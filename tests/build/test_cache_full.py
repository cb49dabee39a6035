"""A disk that is full, at whichever step of a build: the call succeeds, with one warning."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import mounts
import pytest
from cache_crowd import fork, is_right, load

import tvmffi_cubin as tc


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a disk that tests mount, with the cache on it."""
    load(0)  # the launcher's object, which is on another disk, and all imports
    # Of processes that end at once nobody removes what stands in for the cache folder.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    folder = tmp_path / "disk"
    folder.mkdir()
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder / "cache"))
    return folder


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.WARNING, "tvmffi_cubin")

    def said() -> list[str]:
        return [record.getMessage() for record in caplog.records]

    return said


def fill(disk: Path) -> None:
    """Take what room is left, once."""
    filler = disk / "filler"
    if not filler.exists():
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass


@pytest.mark.parametrize("way", ["full", "read-only"])
def test_what_is_there_is_found_on_a_disk_that_takes_nothing_more(
    way, disk, fresh_driver_stub, warnings, monkeypatch
):
    def work() -> tuple[list[bool], list[str]]:
        path = fork(lambda: load(1).path).result()
        if way == "full":
            fill(disk)
        else:
            mounts.remount(disk, flags=mounts.READ_ONLY, options="size=20m")
        monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: pytest.fail(f"a process: {a}"))

        def found() -> bool:
            return load(1).path == path and is_right(load(1), 1, fresh_driver_stub)

        return [fork(found).result() for _ in range(2)], warnings()

    assert mounts.with_mount(work, disk, options="size=1m") == ([True, True], [])


def test_a_cache_that_is_mounted_noexec_is_told_with_the_remedy(tmp_path, monkeypatch):
    folder = tmp_path / "noexec"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder))
    source = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'

    def load():
        tc.load_inline("noexec", source, arch="sm_90")

    told = r"(?s)noexec\.so does not load: .*mounted noexec.*TVMFFI_CUBIN_CACHE_DIR"
    with pytest.raises(tc.BuildError, match=told):
        mounts.with_mount(load, folder, flags=mounts.NOEXEC)


@pytest.mark.parametrize("options", ["size=40k", "size=20m,nr_inodes=8"], ids=["bytes", "inodes"])
def test_a_build_that_finds_no_room_is_made_elsewhere_with_one_warning(
    options, disk, fresh_driver_stub, warnings
):
    def work() -> tuple[bool, list[str]]:
        return is_right(load(2), 2, fresh_driver_stub), warnings()

    is_made, said = mounts.with_mount(work, disk, options=options)
    assert is_made
    (line,) = said
    assert "No space left on device" in line
    assert "TVMFFI_CUBIN_CACHE_DIR" in line


def test_a_full_folder_of_temporary_files_is_not_blamed_on_the_cache(
    tmp_path, warnings, monkeypatch
):
    disk = tmp_path / "disk"

    def work() -> tuple[str, list[str]]:
        fill(disk)
        monkeypatch.setenv("TMPDIR", str(disk))
        with pytest.raises(tc.BuildError) as caught:
            tc.build_inline("temporary", cpp_sources="int f() { return 1; }", functions="f")
        return str(caught.value), warnings()

    said, warned = mounts.with_mount(work, disk, options="size=20k")
    assert f"error writing to {disk}/" in said
    assert warned == []
