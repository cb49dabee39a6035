"""Crowds at one cache: cold, killed, too small, damaged, without common locks."""

import contextlib
import ctypes
import fcntl
import os
import random
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from cache_crowd import crowd, is_right, launcher_in_cache, load
from processes import Child, fork, in_fork
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc
from tvmffi_cubin.__main__ import main
from tvmffi_cubin.cache.upkeep import prune

_LAST = 82  # five builders of every other number: 200
_PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder in which there is nothing."""
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def builders(number: int, stub: DriverStub) -> list[Child]:
    """Start five builders: two of them, and two more, on one key, and one on the next round's."""
    keys = [number, number, number + 1, number + 1, number + 2]
    return [fork(lambda key=key: is_right(load(key), key, stub)) for key in keys]


def kill_at_random_moments(stub: DriverStub) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    moments = random.Random(7)
    began = time.monotonic()
    assert all(child.result() for child in builders(2000, stub))
    longest = time.monotonic() - began
    for number in range(2, _LAST, 2):
        began = time.monotonic()
        victims = builders(number, stub)
        for moment in sorted(moments.uniform(0, longest) for _ in victims):
            time.sleep(max(0, began + moment - time.monotonic()))
            victims.pop(moments.randrange(len(victims))).kill()
        if number % 8 == 0:
            assert in_fork(lambda key=number: is_right(load(key), key, stub))
    # The compilers of killed builders, whose parent this one is now.
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def test_builders_killed_at_random_moments_leave_a_cache_that_works(
    cache, monkeypatch, fresh_driver_stub
):
    launcher_in_cache(monkeypatch)
    load(1000)
    assert in_fork(lambda: kill_at_random_moments(fresh_driver_stub)) is None
    for key in range(_LAST - 4, _LAST + 4):
        assert in_fork(lambda key=key: is_right(load(key), key, fresh_driver_stub))
    # What they left is no lock, and goes a day later.
    for path in (cache / "tmp").iterdir():
        os.utime(path, (1, 1))
    prune(str(cache), None)
    assert list((cache / "tmp").iterdir()) == []


def test_of_64_processes_on_one_cold_key_one_builds(cache, monkeypatch, fresh_driver_stub):
    # What is imported here need not be imported in each child.
    tc.build_inline("imports", 'extern "C" __global__ void k() {}', arch="sm_90")
    launcher_in_cache(monkeypatch)

    def work(_: int) -> tuple[bool, int]:
        return is_right(load(7), 7, fresh_driver_stub), tc.cache_info().builds

    right, builds = zip(*crowd(work, 64), strict=True)
    assert right == (True,) * 64
    assert sum(builds) == 1
    assert list((cache / "tmp").iterdir()) == []


def test_many_that_use_a_cache_that_is_too_small_get_right_results(
    cache, monkeypatch, fresh_driver_stub
):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "200kB")
    orders = [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]]

    def work(worker: int) -> list[bool]:
        return [is_right(load(number), number, fresh_driver_stub) for number in orders[worker]]

    assert crowd(work, len(orders)) == [[True] * 3] * len(orders)


def test_a_module_works_on_when_the_cache_is_cleared(cache, capsys, fresh_driver_stub):
    mod = load(8)
    assert main(["cache", "clear"]) == 0
    assert list(cache.glob("entries/*/*")) == []
    assert is_right(mod, 8, fresh_driver_stub)
    assert is_right(load(8), 8, fresh_driver_stub)


def test_many_processes_that_meet_a_damaged_artifact_all_get_a_whole_one(fresh_driver_stub):
    """flashinfer#4062: ranks that start together load an image that another has half written."""
    # In another process, which alone has mapped what it loads.
    so = Path(in_fork(lambda: load(3).path))
    os.truncate(so, so.stat().st_size // 2)
    right = crowd(lambda _: is_right(load(3), 3, fresh_driver_stub), 16)
    assert right == [True] * 16


def test_hosts_that_do_not_see_each_others_locks_disturb_nobody(
    monkeypatch, cache, fresh_driver_stub
):
    """tvm-ffi#667: locks are each node's own, and links into one place fail with ESTALE."""
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, operation: None)

    machine = os.uname().machine

    def host(number: int) -> bool:
        os.uname = lambda: SimpleNamespace(nodename=f"host{number}", machine=machine)
        return is_right(load(3), 3, fresh_driver_stub)

    right = crowd(host, 8)
    assert right == [True] * 8
    assert len(list(cache.glob("entries/*/*/crowd3.so"))) == 1
