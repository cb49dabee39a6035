"""Many processes at a cold cache: one builds, all get the right thing."""

from __future__ import annotations

from pathlib import Path

import pytest
from cache_crowd import (
    crowd,
    is_right,
    launcher_in_cache,
    load,
)

import tvmffi_cubin as tc


@pytest.fixture(autouse=True)
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder in which there is nothing, the launcher's object neither."""
    # What is imported here need not be imported in each child.
    tc.build_inline("imports", 'extern "C" __global__ void k() {}', arch="sm_90")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    launcher_in_cache(monkeypatch)
    return tmp_path / "cache"


def test_of_64_processes_on_one_cold_key_one_builds(cold, fresh_driver_stub):
    def work(_: int) -> tuple[bool, int]:
        return is_right(load(7), 7, fresh_driver_stub), tc.cache_info().builds

    right, builds = zip(*crowd(work, 64), strict=True)
    assert right == (True,) * 64
    assert sum(builds) == 1
    assert list((cold / "tmp").iterdir()) == []
