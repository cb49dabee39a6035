"""Precompiled headers that are kept beside the package: for cache folders that have none yet."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from header_stock import HeaderStock
from host_pch_builder import PREFIX, VALUE, Builder, uses
from processes import in_fork

import tvmffi_cubin as tc
from tvmffi_cubin import host_pch, inventory, package_folder, package_headers, pch_maker, pch_shelf
from tvmffi_cubin.__main__ import main
from tvmffi_cubin.cache import Cache
from tvmffi_cubin.cache_stats import Stats

SOURCE = """
__global__ void k(int* x) { *x = 1; }
void throws() { TVM_FFI_THROW(ValueError) << "thrown"; }
int last() { k<<<1, 1>>>(nullptr); return cudaGetLastError() == cudaSuccess; }
"""


@pytest.fixture(autouse=True)
def beside(own_headers, tmp_path, monkeypatch, caplog) -> Iterator[Path]:
    """Yield the folder that stands for the one beside the package."""
    caplog.set_level(logging.DEBUG, "tvmffi_cubin")
    yield use(tmp_path / "package", monkeypatch)
    # What is still being made would be kept in the next test's.
    host_pch.settle()


@pytest.fixture
def new(tmp_path):
    """Return a function that makes a builder with a cache folder of its own."""
    return lambda name: Builder(Cache(tmp_path / name), tmp_path)


@pytest.fixture(scope="module")
def mixed_headers(tmp_path_factory: pytest.TempPathFactory, header_stock: HeaderStock) -> Path:
    """Return a folder that stands for the package's, once a mixed source was built."""
    folder = tmp_path_factory.mktemp("mixed")
    with pytest.MonkeyPatch.context() as patch:
        use(folder, patch)
        patch.setattr(host_pch, "find", header_stock.genuine)
        patch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder / "cache"))
        tc.build_inline("first", SOURCE, functions=["last"], arch="sm_90")
        host_pch.settle()
    return folder


def use(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    patch.setattr(package_headers, "path_beside", lambda name: folder / name)
    patch.setattr(package_headers, "is_writable", package_folder.is_writable)
    return folder / "precompiled"


def kept(beside: Path) -> list[Path]:
    return list(beside.glob("entries/*/*"))


def test_the_first_build_in_a_new_cache_folder_uses_them(
    mixed_headers, tmp_path, monkeypatch, driver_stub, caplog
):
    use(mixed_headers, monkeypatch)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "new"))
    mod = tc.load_inline("second", SOURCE, functions=["last", "throws"], arch="sm_90")
    assert uses(caplog) == ["used"]
    assert mod.last() == 1
    with pytest.raises(ValueError, match="thrown"):
        mod.throws()
    host_pch.settle()
    assert not (tmp_path / "new" / "headers").exists()


def test_they_are_found_where_the_cache_folder_is_only_read(new, tmp_path, caplog):
    new("first").settled()
    uses(caplog)
    build = Builder(Cache(tmp_path / "second", mode="read"), tmp_path)
    assert build() == 42
    assert uses(caplog) == ["used"]


def test_they_are_found_where_somebody_else_has_installed_the_package(
    new, monkeypatch, caplog, beside
):
    new("first").settled()
    uses(caplog)
    monkeypatch.setattr(package_headers, "is_writable", lambda path: False)
    assert new("second")() == 42
    assert uses(caplog) == ["used"]
    assert package_headers.clear().entries == 0
    assert len(kept(beside)) == 1


def test_all_who_may_read_the_package_may_read_them(new, beside):
    before = os.umask(0o022)
    try:
        new("first").settled()
    finally:
        os.umask(before)
    (entry,) = kept(beside)
    folders = [entry, *entry.parents[: len(entry.relative_to(beside.parent).parts)]]
    for path in (*folders, *entry.iterdir(), *beside.glob("deps/*")):
        assert path.stat().st_mode & 0o044 == 0o044, path


def test_a_header_that_changed_is_read_again(new, tmp_path, caplog, beside):
    folder = tmp_path / "include"
    folder.mkdir()
    header = folder / "value.h"
    options = {"include_dirs": [folder], "prefix": "#include <value.h>\n"}
    header.write_text("#define VALUE 1\n")
    assert new("first").settled(VALUE, **options) == 1
    assert len(kept(beside)) == 1
    header.write_text("#define VALUE 2\n")
    second = new("second")
    assert second.settled(VALUE, **options) == 2
    assert uses(caplog) == []
    assert new("third")(VALUE, **options) == 2
    assert uses(caplog) == ["used"]


def test_a_header_that_changed_while_they_were_made_is_not_taken_for_the_old_one(
    new, tmp_path, monkeypatch, caplog
):
    folder = tmp_path / "include"
    folder.mkdir()
    header = folder / "value.h"
    options = {"include_dirs": [folder], "prefix": "#include <value.h>\n"}
    header.write_text("#define VALUE 1\n")
    keep = package_headers.keep

    def change_first(*args):
        header.write_text("#define VALUE 2\n")
        keep(*args)

    monkeypatch.setattr(package_headers, "keep", change_first)
    new("first").settled(VALUE, **options)
    assert new("second")(VALUE, **options) == 2
    assert uses(caplog) == []


def test_only_what_many_units_begin_with_is_kept(new, beside):
    options = {"prefix": PREFIX + "#include <string>\n", "common_prefix": PREFIX}
    first = new("first")
    first.settled(**options)
    assert len(first.kept) == 2
    assert len(kept(beside)) == 1


def test_other_flags_have_their_own_and_few_are_kept(new, beside, caplog):
    first = new("first")
    for number in range(5):
        first.settled(flags=(f"-DMINE={number}",))
    assert len(kept(beside)) == 3
    uses(caplog)
    assert new("second")(flags=("-DMINE=4",)) == 42
    assert uses(caplog) == ["used"]
    assert new("third")(flags=("-DMINE=0",)) == 42
    assert uses(caplog) == []


def test_a_damaged_copy_is_made_anew(new, beside, caplog):
    new("first").settled()
    (copy,) = beside.glob("entries/*/*/*.gch")
    os.truncate(copy, 1000)
    second = new("second")
    assert second.settled() == 42
    assert uses(caplog) == []
    assert len(second.kept) == 1
    assert new("third")() == 42
    assert uses(caplog) == ["used"]
    assert len(list(beside.glob("damaged/*"))) == 1
    assert package_headers.clear().entries == 1
    assert list(beside.glob("damaged/*")) == []


def test_none_are_kept_where_they_may_only_lie_in_the_cache_folder(new, beside, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_PCH", "cache")
    first = new("first")
    first.settled()
    assert len(first.kept) == 1
    assert not beside.exists()


@pytest.mark.parametrize("obstacle", ["package", "room"])
def test_none_are_kept_where_they_cannot_be(obstacle, new, beside, monkeypatch):
    first = new("first")
    if obstacle == "package":
        monkeypatch.setattr(package_headers, "is_writable", lambda path: False)
    else:
        monkeypatch.setattr(package_headers, "has_room", lambda folder: False)
    first.settled()
    assert len(first.kept) == 1
    assert not beside.exists()


def test_a_copy_that_fails_is_no_error(new, beside, monkeypatch, caplog):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(package_headers.shutil, "copyfile", fail)
    first = new("first")
    assert first.settled() == 42
    assert "headers are not kept beside the package" in caplog.text
    assert first.settled() == 42
    assert uses(caplog)[-1] == "used"
    assert kept(beside) == []
    assert list(beside.glob("tmp/*")) == []


def test_the_cache_commands_count_and_remove_them(new, beside, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "empty"))
    new("first").settled()
    stats = Stats.look()
    assert stats.size == 0
    assert stats.beside_package.count == 1
    assert stats.beside_package.size > 100_000
    assert main(["cache", "stats"]) == 0
    assert "beside the package" in capsys.readouterr().out
    (entry,) = kept(beside)
    hold = pch_shelf.Hold.take(entry)
    assert hold is not None
    assert main(["cache", "clear"]) == 0
    assert "0 entries removed, 0 B freed; 1 that living processes use" in capsys.readouterr().out
    hold.release()
    assert main(["cache", "clear"]) == 0
    assert "1 entry removed" in capsys.readouterr().out
    assert kept(beside) == []


def test_what_a_killed_process_left_of_a_copy_is_cleared(new, beside, monkeypatch):
    copy = package_headers.shutil.copyfile

    def die(*args):
        copy(*args)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(package_headers.shutil, "copyfile", die)
    with pytest.raises(EOFError):
        in_fork(new("first").settled)
    assert list(beside.glob("tmp/*/*"))
    assert package_headers.clear().size > 0
    assert list(beside.glob("tmp/*")) == []


def test_what_others_may_not_look_at_is_not_counted(new, beside, tmp_path, monkeypatch, capsys):
    look = inventory.take

    def refuse(folder):
        if folder == str(beside):
            raise PermissionError(13, "Permission denied", folder)
        return look(folder)

    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "empty"))
    new("first").settled()
    monkeypatch.setattr(inventory, "take", refuse)
    assert main(["cache", "stats"]) == 0
    assert "beside the package" not in capsys.readouterr().out


@pytest.mark.parametrize("own", [0, 15])
def test_making_them_takes_second_place(own, new, monkeypatch):
    seen = []
    monkeypatch.setattr(pch_maker.os, "getpriority", lambda which, process: own)
    monkeypatch.setattr(pch_maker.os, "setpriority", lambda *args: seen.append(args))
    new("first").settled()
    assert seen
    assert all(which == os.PRIO_PROCESS and nice > own for which, _, nice in seen)
