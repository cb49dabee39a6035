"""What a cache folder loses: also where an image of a container has it, or another user owns it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cache_builder import Builder, base, look_up
from mounts import mount_overlay, with_mount
from other_users import NOBODY, let_others_reach
from processes import in_fork

from tvmffi_cubin import uses
from tvmffi_cubin.cache import Cache
from tvmffi_cubin.cache_clear import clear
from tvmffi_cubin.errors import CacheError
from tvmffi_cubin.pch_shelf import trim as trim_headers
from tvmffi_cubin.trim import trim

KB = 1000

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


@pytest.fixture(autouse=True)
def _own_notes() -> Iterator[None]:
    yield
    uses.leave()


def build(cache: Cache, number: int, *, age: int = 0) -> Path:
    def work() -> Path:
        path = cache.obtain(base(number), Builder(bytes(100 * KB))).path
        os.utime(path, (10**9 - age, 10**9 - age))
        return path

    made: Path = in_fork(work)
    return made


def in_image(work: Callable[[Cache], Any], disk: Path) -> Any:
    """Run `work` on a cache that has five entries in the lower layer of an overlay."""

    def child() -> Any:
        for number in range(5):
            build(Cache(disk / "lower"), number, age=5 - number)
        mount_overlay(disk / "top", lower=disk / "lower", scratch=disk / "scratch")
        return work(Cache(disk / "top"))

    return with_mount(child, disk)


def entries(cache: Cache) -> set[str]:
    return {path.name for path in cache.root.glob("entries/*/*")}


# In an image of a container, of which an overlay renames no folders


def test_what_is_damaged_in_an_image_is_set_aside_and_built_again(tmp_path):
    def work(cache: Cache) -> tuple[bytes, int, int]:
        damaged = cache.find(base(1)).so
        damaged.write_bytes(b"x")
        made = cache.obtain(base(1), Builder(b"new"))
        return made.so.read_bytes(), len(entries(cache)), len(os.listdir(cache.root / "damaged"))

    assert in_image(work, tmp_path / "disk") == (b"new", 5, 1)


def test_what_is_not_used_goes_from_an_image_and_what_is_used_stays(tmp_path):
    def work(cache: Cache) -> tuple[int, set[str], str]:
        held = cache.find(base(0)).key
        removed = trim(str(cache.root), limit=350 * KB)
        assert look_up(cache, base(0)).so.stat().st_size == 100 * KB
        return removed.entries, entries(cache), held

    count, kept, held = in_image(work, tmp_path / "disk")
    assert (count, len(kept)) == (3, 2)
    assert held in kept


def test_one_in_an_image_is_emptied(tmp_path):
    def work(cache: Cache) -> int:
        clear(str(cache.root))
        return len(entries(cache))

    assert in_image(work, tmp_path / "disk") == 0


# What another user owns


@needs_root
def test_what_cannot_be_removed_has_others_go_in_its_place(cache, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "unlimited")
    paths = [build(cache, number, age=9 - number) for number in range(6)]
    # As if the first were made by who was root for once, who is still at it.
    (cache.root / "size").write_text("tvmffi_cubin bytes 1\n")
    uses.note(str(cache.root), paths[5].name)
    foreign = {paths[0], cache.root / "size", *(cache.root / "uses").iterdir()}
    for folder, _, names in os.walk(cache.root):
        for path in (Path(folder), *(Path(folder, name) for name in names)):
            if path not in foreign and path.parent not in foreign:
                os.chown(path, NOBODY, NOBODY)
    let_others_reach(cache.root.parent)

    def work() -> tuple[list[bool], str]:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", str(450 * KB))
        cache.obtain(base(6), Builder())
        with pytest.raises(CacheError, match="cannot be emptied: .*Permission denied"):
            clear(str(cache.root))
        return [path.exists() for path in paths], (cache.root / "size").read_text()

    there, size = in_fork(work)
    assert there == [True, False, False, False, False, True]
    assert len(size.splitlines()) == 1


# On NFS, which locks only what is open for writing


def test_precompiled_headers_go_where_folders_cannot_be_locked(cache, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(9, "Bad file descriptor")

    headers = Cache(cache.root / "headers")
    paths = [build(headers, number, age=9 - number) for number in range(4)]
    monkeypatch.setattr("fcntl.flock", refuse)
    trim_headers(headers.root, keep=3)
    assert [path.exists() for path in paths] == [False, True, True, True]
    trim(str(cache.root), limit=150 * KB)
    assert [path.exists() for path in paths] == [False, False, False, False]
