"""A process killed at each of its steps in the cache: the next one finds nothing in its way."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cache_builder import BASE, Builder
from processes import in_fork

from tvmffi_cubin import cache_clear
from tvmffi_cubin.cache import Cache
from tvmffi_cubin.lock import builder_lock

OTHER, LAST = "cd" * 32, "ef" * 32
_MOST_STEPS = 300
_STEPS = frozenset(
    {
        *("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.chmod"),
        *("os.truncate", "os.utime", "fcntl.flock", "os.scandir", "os.listdir", "open"),
    }
)


def ends_before_step(step: int, work: Callable[[], Any]) -> bool:
    """Whether a forked child that is killed at its step-th file operation has none so many."""
    count = 0

    def watch(event: str, args: tuple[Any, ...]) -> None:
        nonlocal count
        if event in _STEPS:
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(60)
        status = 1
        try:
            sys.addaudithook(watch)
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), status
    return status == 0


def look_after(cache: Cache) -> list[Path]:
    """Build with three keys, the last new to the cache; return what is left of builds."""

    def work() -> list[Path]:
        signal.alarm(20)  # a lock that is still held would be waited for
        for key in (BASE, OTHER, LAST):
            assert Cache(cache.root).obtain(key, Builder()).so.read_bytes() == b"so"
        return list((cache.root / "tmp").iterdir())

    left = in_fork(work)
    assert isinstance(left, list), left
    return left


def locked(cache: Cache) -> list[Path]:
    held = []
    for path in cache.root.rglob("*.lock"):
        with path.open("rb+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(path)
    return held


def build(cache: Cache) -> None:
    Cache(cache.root).obtain(OTHER, Builder())


def hit(cache: Cache) -> None:
    assert Cache(cache.root).obtain(BASE, Builder(b"built again")).so.read_bytes() == b"so"


def clear(cache: Cache) -> None:
    cache_clear.clear(os.fspath(cache.root))


def damage(cache: Cache) -> None:
    os.truncate(cache.obtain(OTHER, Builder(b"whole")).so, 2)


@pytest.mark.parametrize(
    ("work", "before"),
    [(build, None), (build, damage), (hit, None), (clear, build)],
    ids=["building", "damage", "reading", "clearing"],
)
def test_who_is_killed_at_any_step_is_in_nobodys_way(tmp_path, work, before):
    for step in range(1, _MOST_STEPS):
        cache = Cache(tmp_path / str(step))
        cache.obtain(BASE, Builder())
        if before is not None:
            before(cache)
        is_done = ends_before_step(step, lambda cache=cache: work(cache))
        assert locked(cache) == []
        assert look_after(cache) == []
        if is_done:
            break
    assert is_done
    assert step > 3


def test_who_is_killed_while_it_waits_is_in_nobodys_way(cache):
    with builder_lock(cache.lock_file(BASE), patience=0):
        for step in range(1, 12):
            assert not ends_before_step(step, lambda: cache.obtain(BASE, Builder(), patience=0.01))
    assert locked(cache) == []
    assert look_after(cache) == []
