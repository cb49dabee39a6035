"""The private folders of builds: whose builder lives stays, as do the last that failed."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from pathlib import Path

import pytest
from cache_builder import BASE, Builder, look_up
from processes import in_fork

from tvmffi_cubin import cache_clear, private_folder, shelf
from tvmffi_cubin.cache import Cache
from tvmffi_cubin.entry import Entry, Product
from tvmffi_cubin.errors import BuildError, CacheError
from tvmffi_cubin.workplace import sweep

OTHER = "cd" * 32
DAY = 86_400


def workplaces(cache: Cache) -> list[Path]:
    return sorted(path for path in (cache.root / "tmp").iterdir() if path.is_dir())


def claim_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.claim")


def die(directory: Path):
    (directory / "half.o").write_text("half")
    os._exit(9)


def killed(cache: Cache) -> Path:
    """Have a builder die in the middle of a build; return its folder."""
    before = set(workplaces(cache)) if cache.root.exists() else set()
    with pytest.raises(EOFError):
        in_fork(lambda: cache.obtain(OTHER, die))
    (left,) = set(workplaces(cache)) - before
    assert (left / "half.o").exists()
    return left


def age(folder: Path, seconds: float) -> None:
    moment = time.time() - seconds
    os.utime(folder, (moment, moment))


def rename(folder: Path, process: int) -> Path:
    target = folder.with_name(f"{process}-{folder.name.partition('-')[2]}")
    claim_of(folder).rename(claim_of(target))
    return folder.rename(target)


# Killed builds


def test_what_a_killed_build_left_is_gone_after_the_next_build(cache):
    killed(cache)
    cache.obtain(BASE, Builder())
    assert workplaces(cache) == []


def test_a_claim_whose_folder_is_gone_goes_too(cache):
    left = killed(cache)
    shutil.rmtree(left)
    cache.obtain(BASE, Builder())
    assert list((cache.root / "tmp").iterdir()) == []


def test_what_is_found_removes_nothing(cache):
    cache.obtain(BASE, Builder())
    left = killed(cache)
    cache.obtain(BASE, Builder())
    assert workplaces(cache) == [left]


def test_it_is_gone_although_its_process_number_is_in_use_again(cache):
    rename(killed(cache), os.getpid())
    cache.obtain(BASE, Builder())
    assert workplaces(cache) == []


@pytest.mark.parametrize("clear", [False, True])
def test_the_folder_of_a_build_under_way_stays(cache, clear):
    def make(directory: Path):
        # As on another host, or in another container: the process is none of this one's.
        if clear:
            cache_clear.clear(str(cache.root))
        else:
            Cache(cache.root).obtain(OTHER, Builder())
        return Builder(b"outer")(directory)

    assert cache.obtain(BASE, make).so.read_bytes() == b"outer"
    assert workplaces(cache) == []


def test_clearing_goes_by_the_builders_life_too(cache):
    rename(killed(cache), os.getpid())
    cache_clear.clear(str(cache.root))
    assert workplaces(cache) == []


@pytest.mark.parametrize("claim", ["elsewhere", None])
def test_a_folder_whose_builder_cannot_be_asked_stays_for_a_day(cache, claim):
    left = killed(cache)
    if claim is None:
        claim_of(left).unlink()
    else:
        claim_of(left).write_text(claim)
    age(left, DAY / 2)
    sweep(str(cache.root / "tmp"))
    assert left.exists()
    age(left, DAY * 2)
    sweep(str(cache.root / "tmp"))
    assert not left.exists()


def test_what_the_cache_did_not_make_stays(cache):
    others = [cache.root / "tmp" / name for name in ("work", "1-2", f"x-{'0' * 16}")]
    for folder in others:
        folder.mkdir(parents=True)
        age(folder, DAY * 9)
    cache.obtain(BASE, Builder())
    assert workplaces(cache) == sorted(others)


def test_many_may_remove_at_once(cache):
    first = killed(cache)
    for number in range(100):
        copy = shutil.copytree(first, first.with_name(f"1-{number:016}"))
        (copy / "more").mkdir()
        shutil.copy(claim_of(first), claim_of(copy))
    errors = []

    def work():
        try:
            sweep(str(cache.root / "tmp"))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    sweep(str(cache.root / "tmp"))
    assert workplaces(cache) == []


# Failed builds


def fail(cache: Cache, text: str) -> Path:
    def make(directory: Path):
        (directory / "source.cc").touch()
        raise BuildError(text, directory=str(directory))

    with pytest.raises(BuildError) as caught:
        cache.obtain(BASE, make)
    return Path(caught.value.directory)


def test_the_last_failed_builds_stay_with_their_errors(cache):
    folders = [fail(cache, f"error {number}") for number in range(10)]
    folders.append(fail(cache, "error 10 in \udcff"))
    assert not any(folder.exists() for folder in folders[:3])
    for number, folder in enumerate(folders[3:], start=3):
        assert (folder / "error.txt").read_bytes().startswith(b"error %d" % number)
        assert (folder / "source.cc").exists()
    cache.obtain(BASE, Builder())
    assert len(workplaces(cache)) == 8


# Folders that are removed while they are built in


@pytest.mark.parametrize("way", ["ours", "compiler", "publish"])
@pytest.mark.parametrize("wholly", [True, False])
def test_a_build_whose_folder_is_removed_is_done_again(cache, way, wholly):
    builder = Builder()

    def make(directory: Path):
        if builder.runs == 0:
            builder.runs += 1
            shutil.rmtree(cache.root)
            if not wholly:  # as where a compiler writes just before the folder itself goes
                directory.mkdir(parents=True)
            if way == "ours":
                (directory / "generated" / "x.cu").write_bytes(b"")
            if way == "compiler":
                raise BuildError("ninja: no such folder", directory=str(directory))
            return Builder()(directory) if not wholly else Product(so="vec.so")
        return builder(directory)

    assert cache.obtain(BASE, make).so.read_bytes() == b"so"
    assert builder.runs == 2
    assert workplaces(cache) == []
    assert look_up(cache)


@pytest.mark.parametrize("part", ["entries", "entry", "manifest", "so", "root"])
def test_an_entry_that_is_removed_as_soon_as_it_is_in_place_is_built_again(
    cache, monkeypatch, part
):
    real = private_folder.read_entry
    builder = Builder()

    def read_entry(path: str, **options: str) -> Entry:
        if builder.runs == 1:
            entry = Path(path)
            places = {"entries": entry.parent, "entry": entry, "root": cache.root}
            names = {"manifest": "manifest.json", "so": "vec.so"}
            if part in names:  # as in the middle of removing
                (entry / names[part]).unlink()
            else:
                shutil.rmtree(places[part])
        return real(path, **options)

    monkeypatch.setattr(private_folder, "read_entry", read_entry)
    assert cache.obtain(BASE, builder).so.read_bytes() == b"so"
    assert builder.runs == 2
    assert workplaces(cache) == []
    assert look_up(cache)


def test_what_was_in_its_place_may_be_removed_before_it_is_looked_at(cache, monkeypatch):
    real = os.rename
    refused = []

    def rename(source: str, target: str) -> None:
        if f"{cache.root}/entries/" in str(target) and not refused:
            refused.append(target)
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), source)
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    builder = Builder()
    assert cache.obtain(BASE, builder).so.read_bytes() == b"so"
    assert (builder.runs, len(refused)) == (1, 1)


def test_a_record_that_is_removed_while_it_is_written_is_no_error(cache, monkeypatch):
    real = shelf.write_sets

    def write(path, *arguments):
        shutil.rmtree(os.path.dirname(path))
        real(path, *arguments)

    monkeypatch.setattr(shelf, "write_sets", write)
    assert cache.obtain(BASE, Builder()).so.read_bytes() == b"so"


def test_a_build_whose_folder_is_removed_as_it_is_published_is_done_again(cache, monkeypatch):
    builder = Builder()
    real = shelf.place

    def place(*arguments, **named):
        if builder.runs == 1:
            shutil.rmtree(cache.root)
        return real(*arguments, **named)

    monkeypatch.setattr("tvmffi_cubin.shelf.place", place)
    assert cache.obtain(BASE, builder).so.read_bytes() == b"so"
    assert builder.runs == 2


def test_a_folder_that_is_removed_again_and_again_is_an_error_with_its_remedy(cache):
    def make(directory: Path):
        shutil.rmtree(cache.root)
        (directory / "kernels.cubin").write_bytes(b"")

    with pytest.raises(CacheError, match=r"is being removed.*CACHE_DIR.*kernels\.cubin") as caught:
        cache.obtain(BASE, make)
    assert str(cache.root) in str(caught.value)


def test_another_missing_file_is_passed_on_at_once(cache):
    runs = []

    def make(directory: Path):
        runs.append(directory)
        raise FileNotFoundError(2, "No such file or directory", "/no/such/header.h")

    with pytest.raises(FileNotFoundError, match=r"header\.h"):
        cache.obtain(BASE, make)
    assert len(runs) == 1


def test_what_fails_after_the_folder_has_moved_is_told_and_not_built_again(cache, monkeypatch):
    def fail(*args):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("tvmffi_cubin.shelf.write_sets", fail)
    builder = Builder()
    with pytest.raises(CacheError, match=r"failed: .*Input/output error"):
        cache.obtain(BASE, builder)
    assert builder.runs == 1


# File systems without locks


def test_without_locks_age_tells_what_was_killed(cache, monkeypatch):
    def refuse(*args):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    new, old = killed(cache), killed(cache)
    for path in (old, claim_of(old)):
        os.utime(path, (time.time() - 2 * DAY,) * 2)
    sweep(str(cache.root / "tmp"))
    assert workplaces(cache) == [new]
    cache_clear.clear(str(cache.root))
    assert workplaces(cache) == []
