"""Where precompiled headers are kept: what is in use stays, what is old goes."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from processes import in_fork

from tvmffi_cubin import pch
from tvmffi_cubin.pch_shelf import Hold, has_room, trim


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    return tmp_path


def entry(shelf: Path, name: str, *, age: int) -> Path:
    folder = shelf / "entries" / name[:2] / name
    folder.mkdir(parents=True)
    (folder / "file").write_text("x")
    os.utime(folder, (10**9 - age, 10**9 - age))
    return folder


def kept(shelf: Path) -> list[str]:
    return sorted(path.name for path in shelf.glob("entries/*/*"))


def test_those_used_last_stay(shelf):
    for age, name in enumerate(("aa1", "ab2", "ac3", "ad4")):
        entry(shelf, name, age=age)
    trim(shelf, keep=2)
    assert kept(shelf) == ["aa1", "ab2"]
    assert not list((shelf / "tmp").iterdir())


def test_use_makes_young(shelf):
    old = entry(shelf, "aa1", age=9)
    entry(shelf, "ab2", age=1)
    hold = Hold.take(old)
    assert hold is not None
    hold.release()
    trim(shelf, keep=1)
    assert kept(shelf) == ["aa1"]


def test_what_is_in_use_stays_however_old(shelf):
    holds = [Hold.take(entry(shelf, name, age=9)) for name in ("aa1", "ab2")]
    entry(shelf, "ac3", age=1)
    trim(shelf, keep=0)
    assert kept(shelf) == ["aa1", "ab2"]
    for hold in holds:
        assert hold is not None
        hold.release()
    trim(shelf, keep=0)
    assert kept(shelf) == []


def test_two_may_use_the_same(shelf):
    folder = entry(shelf, "aa1", age=1)
    assert Hold.take(folder) is not None
    assert Hold.take(folder) is not None


def test_what_is_gone_cannot_be_used(shelf):
    assert Hold.take(shelf / "entries" / "aa" / "aa1") is None


def test_what_is_discarded_is_gone_at_once(shelf):
    hold = Hold.take(entry(shelf, "aa1", age=1))
    assert hold is not None
    hold.discard()
    assert kept(shelf) == []
    hold.release()


def test_an_empty_shelf_is_left_alone(tmp_path):
    trim(tmp_path / "none", keep=1)
    assert not (tmp_path / "none").exists()


def test_room_is_asked_of_the_folder_that_would_hold_the_new_one(tmp_path):
    assert has_room(tmp_path / "not" / "yet")
    assert not (tmp_path / "not").exists()


def test_a_full_disk_has_no_room(tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG, "tvmffi_cubin")
    full = SimpleNamespace(f_blocks=10**6, f_bavail=10, f_frsize=4096)
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    assert not has_room(tmp_path)
    assert "less than 512 MB are free" in caplog.text


def test_a_folder_that_cannot_be_written_has_no_room(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert not has_room(tmp_path)


def test_a_folder_in_one_that_cannot_be_searched_has_no_room(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)

    def ask() -> bool:
        if os.getuid() == 0:  # whom permissions do not stop
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        return has_room(closed / "cache" / "headers")

    assert in_fork(ask) is False


# The switch


@pytest.mark.parametrize(
    ("variable", "argument", "wanted"),
    [
        (None, None, True),
        ("", True, True),
        ("on", False, False),
        ("cache", None, True),
        ("cache", False, False),
        ("off", None, False),
        ("off", True, False),
    ],
)
def test_both_the_variable_and_the_argument_turn_them_off(variable, argument, wanted, monkeypatch):
    if variable is None:
        monkeypatch.delenv("TVMFFI_CUBIN_PCH", raising=False)
    else:
        monkeypatch.setenv("TVMFFI_CUBIN_PCH", variable)
    assert pch.is_wanted(argument) is wanted


def test_other_values_are_errors(monkeypatch):
    with pytest.raises(TypeError, match="use_pch is a bool, got str 'no'"):
        pch.is_wanted("no")  # type: ignore[arg-type]
    monkeypatch.setenv("TVMFFI_CUBIN_PCH", "yes")
    with pytest.raises(
        ValueError, match="TVMFFI_CUBIN_PCH='yes': wanted 'on', 'cache' or 'off'; or unset"
    ):
        pch.is_wanted(None)
