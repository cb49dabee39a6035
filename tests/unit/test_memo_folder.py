"""Where memos are kept that the cache folder does not take: in a folder of the user's alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from other_users import NOBODY, let_others_reach
from processes import in_fork

from tvmffi_cubin import identity, memo_folder, stamp
from tvmffi_cubin.__main__ import main

NAME = f"tvmffi-cubin-{os.geteuid()}"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    """The folder that memos go to; the files of these tests count as old."""
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(memo_folder, "_LAST_RESORT", str(folder))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(stamp, "_SETTLED_NS", -(10**18))
    identity.forget()
    yield folder
    identity.forget()


@pytest.fixture
def read_only(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "read")


@pytest.fixture
def compiler(tmp_path):
    path = tmp_path / "g++"
    path.write_text("one")
    return path


def asked(compiler: Path) -> bool:
    """Whether a new process would ask the compiler."""
    identity.forget()
    calls = []

    def ask() -> str:
        calls.append(1)
        return "g++ 12"

    assert identity.remember(compiler, ask) == "g++ 12"
    return bool(calls)


def memos(folder: Path) -> list[Path]:
    return sorted((folder / NAME / "identity").iterdir())


def test_where_nothing_is_to_be_written_the_next_process_knows_all_the_same(
    tmp_path, runtime, compiler, read_only
):
    assert [asked(compiler), asked(compiler)] == [True, False]
    assert not (tmp_path / "cache").exists()
    assert len(memos(runtime)) == 1
    assert (runtime / NAME).stat().st_mode & 0o777 == 0o700


def test_where_nothing_can_be_written_the_next_process_knows_all_the_same(tmp_path, compiler):
    (tmp_path / "cache").write_text("")
    assert [asked(compiler), asked(compiler)] == [True, False]


def test_a_cache_folder_that_can_be_written_is_all_there_is(tmp_path, runtime, compiler):
    assert [asked(compiler), asked(compiler)] == [True, False]
    assert list(runtime.iterdir()) == []


def test_memos_of_a_cache_folder_that_is_only_read_come_first(
    tmp_path, runtime, compiler, monkeypatch
):
    assert asked(compiler)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "read")
    assert not asked(compiler)
    assert list(runtime.iterdir()) == []


def test_what_changed_is_asked_about_again_and_remembered(runtime, compiler, read_only):
    assert asked(compiler)
    compiler.write_text("other")
    assert [asked(compiler), asked(compiler)] == [True, False]
    assert len(memos(runtime)) == 1


def test_without_a_cache_nothing_is_kept_anywhere(runtime, compiler, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "off")
    assert [asked(compiler), asked(compiler)] == [True, True]
    assert list(runtime.iterdir()) == []


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_may_write_is_neither_read_nor_written(
    runtime, compiler, read_only, mode
):
    assert asked(compiler)
    before = [path.read_bytes() for path in memos(runtime)]
    (runtime / NAME).chmod(mode)
    compiler.write_text("other")
    assert [asked(compiler), asked(compiler)] == [True, True]
    assert [path.read_bytes() for path in memos(runtime)] == before


@needs_root
def test_a_folder_of_another_user_is_neither_read_nor_written(runtime, compiler, read_only):
    assert asked(compiler)
    os.chown(runtime / NAME, NOBODY, NOBODY)
    assert [asked(compiler), asked(compiler)] == [True, True]
    assert len(memos(runtime)) == 1


@needs_root
def test_the_folder_of_another_user_s_session_is_not_used(runtime, compiler, read_only):
    os.chown(runtime, NOBODY, NOBODY)
    assert [asked(compiler), asked(compiler)] == [True, True]
    assert list(runtime.iterdir()) == []


def test_a_link_in_its_place_is_not_followed(tmp_path, runtime, compiler, read_only):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (runtime / NAME).symlink_to(elsewhere)
    assert [asked(compiler), asked(compiler)] == [True, True]
    assert list(elsewhere.iterdir()) == []
    assert (runtime / NAME).is_symlink()


def test_a_file_in_its_place_is_left_alone(runtime, compiler, read_only):
    (runtime / NAME).write_text("somebody's")
    assert [asked(compiler), asked(compiler)] == [True, True]
    assert (runtime / NAME).read_text() == "somebody's"


def test_where_others_could_rename_it_there_is_none(runtime, compiler, read_only):
    runtime.chmod(0o777)
    assert [asked(compiler), asked(compiler)] == [True, True]
    assert not (runtime / NAME).exists()
    runtime.chmod(0o1777)
    assert [asked(compiler), asked(compiler)] == [True, False]


@pytest.mark.parametrize("first", ["/nowhere", "runtime", ""])
def test_where_the_session_has_no_folder_the_one_for_temporary_files_has_it(
    runtime, compiler, read_only, monkeypatch, first
):
    monkeypatch.chdir(runtime.parent)
    monkeypatch.setenv("XDG_RUNTIME_DIR", first)
    other = runtime / "tmp"
    other.mkdir(mode=0o700)
    monkeypatch.setenv("TMPDIR", str(other))
    assert [asked(compiler), asked(compiler)] == [True, False]
    assert len(memos(other)) == 1


def test_a_damaged_memo_is_made_again(runtime, compiler, read_only):
    assert asked(compiler)
    (memo,) = memos(runtime)
    memo.write_bytes(memo.read_bytes().replace(b"g++ 12", b"g++ 13"))
    assert [asked(compiler), asked(compiler)] == [True, False]


def test_a_full_folder_is_emptied_first(runtime, tmp_path, compiler, read_only):
    assert asked(compiler)
    for number in range(200):
        (runtime / NAME / "identity" / f"{number}.json").write_text("{}")
    (tmp_path / "g++-13").write_text("")
    assert [asked(tmp_path / "g++-13"), asked(tmp_path / "g++-13")] == [True, False]
    assert len(memos(runtime)) == 1


def test_what_clears_the_cache_clears_it(runtime, compiler, read_only):
    assert asked(compiler)
    assert main(["cache", "clear"]) == 0
    assert memos(runtime) == []
    assert asked(compiler)


@needs_root
def test_who_may_not_write_the_cache_folder_has_memos_too(tmp_path, compiler):
    (tmp_path / "cache").mkdir(mode=0o755)
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    os.chown(own, NOBODY, NOBODY)
    let_others_reach(tmp_path)

    def work():
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.environ["XDG_RUNTIME_DIR"] = str(own)
        return [asked(compiler), asked(compiler)]

    assert in_fork(work) == [True, False]
    assert list((tmp_path / "cache").iterdir()) == []
    assert (own / f"tvmffi-cubin-{NOBODY}" / "identity").stat().st_uid == NOBODY
