"""`Observer`: what is hashed, and what is known from before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tvmffi_cubin import observer, stamp
from tvmffi_cubin.key import file_digest
from tvmffi_cubin.observer import Observer

LONG_AGO = 1_600_000_000


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the files that are hashed from now on."""
    paths: list[str] = []

    def note(path: str) -> str:
        paths.append(path)
        return file_digest(path)

    monkeypatch.setattr(observer, "file_digest", note)
    monkeypatch.setattr(observer, "_known", {})
    monkeypatch.setattr(observer, "trusted", lambda stamp: stamp)
    return paths


def digest(path: Path) -> str:
    with Observer({}) as looking:
        return looking.digest(str(path))


def test_a_file_that_stays_is_hashed_once_a_process(tmp_path: Path, hashed: list[str]) -> None:
    path = tmp_path / "a.h"
    path.write_text("1")
    assert digest(path) == digest(path) == file_digest(str(path))
    assert hashed == [str(path)]


def test_a_file_that_changed_is_hashed_anew(tmp_path: Path, hashed: list[str]) -> None:
    path = tmp_path / "a.h"
    path.write_text("1")
    first = digest(path)
    path.write_text("2")
    os.utime(path, (LONG_AGO, LONG_AGO))  # its size and, it may be, its time stay
    assert digest(path) == file_digest(str(path)) != first


def test_a_young_file_is_hashed_anew(
    tmp_path: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    # However long it takes to look at it.
    monkeypatch.setattr(stamp, "_SETTLED_NS", 10**18)
    path = tmp_path / "a.h"
    path.write_text("1")
    assert str(path) not in observer._known
    digest(path)
    assert str(path) not in observer._known
