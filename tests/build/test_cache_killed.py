"""Builders killed with SIGKILL at any moment: the cache stays usable."""

from __future__ import annotations

import ctypes
import os
import random
import time
from pathlib import Path

import pytest
from cache_crowd import Child, fork, is_right, launcher_in_cache, load
from stub.driver_stub import DriverStub

from tvmffi_cubin.cache.upkeep import prune

_MOMENTS = 200
_PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that has the launcher's object and nothing else."""
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    launcher_in_cache(monkeypatch)
    load(1000)
    return tmp_path / "cache"


def wait_for_orphans() -> None:
    """Wait until the compilers of killed builders have ended, too, whose parent this one is now."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def builders(number: int, stub: DriverStub) -> list[Child]:
    """Start five builders: two of them, and two more, on one key, and one on the next round's."""
    keys = [number, number, number + 1, number + 1, number + 2]
    return [fork(lambda key=key: is_right(load(key), key, stub)) for key in keys]


def seconds_of_a_build(stub: DriverStub) -> float:
    began = time.monotonic()
    assert all(child.result() for child in builders(2000, stub))
    return time.monotonic() - began


def kill_at_random_moments(stub: DriverStub) -> int:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    moments = random.Random(7)
    longest = seconds_of_a_build(stub)
    killed = number = 0
    while killed < _MOMENTS:
        number += 2
        began = time.monotonic()
        victims = builders(number, stub)
        before = killed
        for moment in sorted(moments.uniform(0, longest) for _ in victims):
            time.sleep(max(0, began + moment - time.monotonic()))
            victim = victims.pop(moments.randrange(len(victims)))
            ended = os.waitid(os.P_PID, victim.process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            killed += ended is None
            victim.kill()
        # As long as a build takes now, whatever else the machine does.
        longest *= {5: 1.1, 4: 1.0}.get(killed - before, 0.8)
        if number % 8 == 0:
            assert fork(lambda key=number: is_right(load(key), key, stub)).result()
    wait_for_orphans()
    return number


def test_builders_killed_at_random_moments_leave_a_cache_that_works(own_cache, fresh_driver_stub):
    number = fork(lambda: kill_at_random_moments(fresh_driver_stub)).result()
    right = [
        fork(lambda key=key: is_right(load(key), key, fresh_driver_stub)).result()
        for key in range(max(1, number - 4), number + 4)
    ]
    assert right == [True] * len(right)
    # What they left is no lock, and goes a day later.
    for path in (own_cache / "tmp").iterdir():
        os.utime(path, (1, 1))
    prune(str(own_cache), None)
    assert list((own_cache / "tmp").iterdir()) == []
