"""A cache folder stays below its limit, whoever builds, and keeps what living processes use."""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cache_builder import Builder, base
from processes import in_fork

from tvmffi_cubin import eviction, inventory, lock, trim, uses
from tvmffi_cubin.cache import Cache, Entry
from tvmffi_cubin.errors import BuildError

KB = 1000
# Of one entry: blocks, the manifest, two folders.
LARGE = 100 * KB
HOUR = 3600.0


@pytest.fixture(autouse=True)
def _own_notes() -> Iterator[None]:
    yield
    uses.leave()


@pytest.fixture
def limited(monkeypatch) -> Callable[[int], None]:
    def limit(size: int) -> None:
        monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", str(size))

    limit(10**9)
    return limit


def build(cache: Cache, number: int, *, size: int = LARGE) -> Entry:
    content = b"%09d" % number + bytes(size)
    made = cache.obtain(base(number), Builder(content))
    assert made.so.read_bytes() == content
    return made


def build_elsewhere(cache: Cache, number: int, *, age: float = 0, size: int = LARGE) -> Path:
    """Build in a process that has ended since, some time ago."""
    path: Path = in_fork(lambda: build(cache, number, size=size).path)
    used = time.time() - age
    os.utime(path, (used, used))
    return path


def taken(cache: Cache) -> int:
    return inventory.take(str(cache.root)).size


def records(cache: Cache) -> set[str]:
    return {path.stem for path in (cache.root / "deps").iterdir()}


# What goes and what stays


def test_what_was_used_least_recently_goes_with_its_record(cache, limited):
    paths = [build_elsewhere(cache, number, age=HOUR * (20 - number)) for number in range(10)]
    limited(900 * KB)
    new = build(cache, 10)
    assert taken(cache) <= 900 * KB
    kept = [path.exists() for path in paths]
    assert kept == sorted(kept)
    assert 5 <= sum(kept) <= 8
    assert new.path.exists()
    assert records(cache) == {base(n) for n, is_kept in enumerate(kept) if is_kept} | {base(10)}
    # It is built again, and found again.
    assert build(cache, 0).so.exists()


def test_below_the_limit_nothing_goes(cache, limited):
    paths = [build_elsewhere(cache, number, age=HOUR * 9999) for number in range(4)]
    limited(900 * KB)
    build(cache, 10)
    assert all(path.exists() for path in paths)


def test_without_a_limit_nothing_is_counted(cache, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "unlimited")
    build(cache, 1)
    assert not (cache.root / "size").exists()


def test_a_limit_that_is_none_is_told_before_anything_is_built(cache, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "much")
    builder = Builder()
    with pytest.raises(ValueError, match="TVMFFI_CUBIN_CACHE_SIZE='much'"):
        cache.obtain(base(1), builder)
    assert builder.runs == 0


def test_a_hit_makes_young(cache, limited):
    paths = [build_elsewhere(cache, number, age=HOUR * (20 - number)) for number in range(10)]
    in_fork(lambda: build(cache, 0))
    limited(900 * KB)
    build(cache, 10)
    assert [path.exists() for path in paths[:3]] == [True, False, False]


def test_what_a_living_process_was_given_stays_however_old(cache, limited):
    paths = [build_elsewhere(cache, number, age=HOUR * (20 - number)) for number in range(10)]
    held = build(cache, 0)
    old = time.time() - 99 * HOUR
    os.utime(held.path, (old, old))
    limited(400 * KB)
    in_fork(lambda: build(cache, 10))
    assert [path.exists() for path in paths] == [True] + [False] * 9


def test_where_all_is_in_use_nothing_goes_and_it_is_not_tried_each_time(
    cache, limited, monkeypatch
):
    entries = [build(cache, number) for number in range(3)]
    limited(350 * KB)
    looks = []
    take = inventory.take
    monkeypatch.setattr(inventory, "take", lambda root: looks.append(root) or take(root))
    entries += [build(cache, number, size=1) for number in range(3, 9)]
    assert all(entry.path.exists() for entry in entries)
    assert len(looks) <= 4


def test_one_that_is_larger_than_the_limit_stays_until_the_next(cache, limited):
    limited(50 * KB)
    large = in_fork(lambda: build(cache, 0).path)
    assert large.exists()
    in_fork(lambda: build(cache, 1, size=1))
    assert not large.exists()


def test_times_that_are_yet_to_come_count_as_now_and_age_from_then_on(cache, limited):
    future = build_elsewhere(cache, 0, age=-9999 * HOUR)
    older = build_elsewhere(cache, 1, age=HOUR)
    limited(350 * KB)
    in_fork(lambda: build(cache, 2))
    assert (future.exists(), older.exists()) == (True, False)
    assert future.stat().st_mtime <= time.time()


def test_failed_and_damaged_builds_count_and_go_too(cache, limited):
    def fail(directory: Path):
        (directory / "large.o").write_bytes(bytes(LARGE))
        raise BuildError("no", directory=str(directory))

    for number in range(3):
        with pytest.raises(BuildError):
            cache.obtain(base(number), fail)
    failed = list((cache.root / "tmp").iterdir())
    damaged = cache.root / "damaged" / f"{1:020}-{base(7)}"
    damaged.mkdir(parents=True)
    (damaged / "k.so").write_bytes(bytes(LARGE))
    for path in (*failed, damaged):
        os.utime(path, (0, 0))
    limited(250 * KB)
    entry = build(cache, 5)
    assert not damaged.exists()
    assert not any(path.exists() for path in failed)
    assert entry.path.exists()


def test_precompiled_headers_count_and_go_unless_a_build_uses_them(cache, limited):
    from tvmffi_cubin.pch_shelf import Hold

    headers = Cache(cache.root / "headers")
    held, free = (in_fork(lambda n=n: build(headers, n).path) for n in (1, 2))
    hold = Hold.take(held)
    for path in (held, free):
        os.utime(path, (0, 0))
    limited(150 * KB)
    in_fork(lambda: build(cache, 3))
    assert (held.exists(), free.exists()) == (True, False)
    assert [path.stem for path in (headers.root / "deps").iterdir()] == [base(1)]
    assert hold is not None
    hold.release()


def test_a_build_under_way_is_left_alone(cache, limited):
    def make(directory: Path):
        (directory / "large.o").write_bytes(bytes(LARGE))
        limited(50 * KB)
        in_fork(lambda: build(Cache(cache.root), 2))
        return Builder(b"outer")(directory)

    assert cache.obtain(base(1), make).so.read_bytes() == b"outer"


# What else is collected


def test_records_of_fields_go_with_the_last_entry_of_their_key(cache, limited):
    build_elsewhere(cache, 0, age=HOUR)
    fields = cache.root / "fields" / ("ab" * 8)
    fields.mkdir(parents=True)
    alone = cache.root / "fields" / ("cd" * 8)
    alone.mkdir()
    for path in (fields / f"{base(0)}.json", fields / f"{base(1)}.json", alone / f"{base(0)}.json"):
        path.write_text("{}")
    limited(150 * KB)
    build(cache, 1)
    assert [path.stem for path in fields.iterdir()] == [base(1)]
    assert not alone.exists()
    uses.leave()
    trim.trim(str(cache.root), limit=1)
    assert records(cache) == set()


def test_what_killed_processes_have_left_is_collected(cache, limited):
    build_elsewhere(cache, 0)
    old = [
        cache.root / "locks" / f"{base(8)}.lock",
        cache.root / "deps" / f".12-{'0' * 16}.tmp",
        *(cache.root / "identity" / f"{base(n)}.json" for n in range(520)),
    ]
    for path in old:
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
        os.utime(path, (0, 0))
    new = [cache.root / "locks" / f"{base(9)}.lock", cache.root / "deps" / f".13-{'0' * 16}.tmp"]
    for path in new:
        path.touch()
    limited(150 * KB)
    build(cache, 1)
    assert not old[0].exists()
    assert not old[1].exists()
    assert all(path.exists() for path in new)
    assert len(list((cache.root / "identity").iterdir())) == 512


def test_where_entries_do_not_suffice_records_that_lead_nowhere_go(cache, limited):
    in_fork(lambda: build(cache, 0))
    orphan = cache.root / "deps" / f"{base(7)}.json"
    orphan.write_bytes(bytes(LARGE))
    os.utime(orphan, (0, 0))
    limited(50 * KB)
    build(cache, 1)
    assert not orphan.exists()
    assert records(cache) == {base(1)}


def test_what_others_keep_in_the_folder_stays(cache, limited):
    mine = [
        cache.root / name for name in ("notes", "deps/mine.json", "entries/ab/mine", "tmp/mine")
    ]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(LARGE))
        os.utime(path, (0, 0))
    limited(10 * KB)
    build(cache, 1)
    assert all(path.exists() for path in mine)


# The file with the size


@pytest.mark.parametrize(
    "damage",
    [b"", b"junk", b"tvmffi_cubin bytes -5\n", b"tvmffi_cubin bytes \n", b"\xff\n1\n", b"9" * 99999,
     b"tvmffi_cubin bytes 1\n" + b"1\n" * 99999],
)  # fmt: skip
def test_a_size_that_says_nothing_has_the_folder_looked_through(cache, limited, damage):
    old = build_elsewhere(cache, 0, age=HOUR)
    (cache.root / "size").write_bytes(damage)
    limited(150 * KB)
    build(cache, 1)
    assert not old.exists()
    before = (cache.root / "size").stat().st_size
    assert before < 100
    build(cache, 2, size=1)
    assert before < (cache.root / "size").stat().st_size < 100


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_in_its_place_hinders_no_build(cache, limited, kind):
    build(cache, 0)
    size = cache.root / "size"
    size.unlink()
    size.mkdir() if kind == "folder" else os.mkfifo(size)
    assert build(cache, 1).so.exists()


def test_it_is_about_right(cache, limited):
    build(cache, 0)
    for number in range(1, 6):
        build(cache, number)
    lines = (cache.root / "size").read_text().splitlines()
    assert sum(int(line.split()[-1]) for line in lines) == pytest.approx(taken(cache), rel=0.2)


# Several at once


def test_a_process_that_notes_an_entry_while_it_is_moved_keeps_it(cache, limited, monkeypatch):
    old = build_elsewhere(cache, 0, age=HOUR)
    living = uses.living

    def late(root: str) -> set[str]:
        known = living(root)
        if not noted:
            noted.append(1)
            uses.note(str(cache.root), old.name)
        return known

    noted: list[int] = []
    monkeypatch.setattr(uses, "living", late)
    limited(150 * KB)
    build(cache, 1)
    assert noted
    assert old.exists()
    assert Cache(cache.root).find(base(0)).path == old


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), KeyboardInterrupt()])
def test_where_nobody_knows_what_is_in_use_all_is_put_back(cache, limited, monkeypatch, error):
    old = build_elsewhere(cache, 0, age=HOUR)

    def fail(root: str) -> set[str]:
        raise error

    monkeypatch.setattr(eviction.uses, "living", fail)
    with pytest.raises(type(error)):
        eviction.evict(str(cache.root), inventory.take(str(cache.root)).of("entry"))
    assert (old / "vec.so").exists()
    assert list((cache.root / "tmp").iterdir()) == []


def test_one_that_is_built_anew_while_it_is_moved_stays(cache, limited, monkeypatch):
    old = build_elsewhere(cache, 0, age=HOUR)
    move = eviction._move

    def moved(item, target):
        done = move(item, target)
        in_fork(lambda: build(Cache(cache.root), 0))
        uses.note(str(cache.root), old.name)
        return done

    monkeypatch.setattr(eviction, "_move", moved)
    limited(150 * KB)
    trim.trim(str(cache.root), limit=50 * KB)
    assert Cache(cache.root).find(base(0)).so.exists()
    assert list((cache.root / "tmp").iterdir()) == []


def test_while_one_trims_others_do_not(cache, limited):
    build_elsewhere(cache, 0, age=HOUR)
    with lock.builder_lock(str(cache.root / "locks" / "trim.lock"), patience=0):
        assert trim.trim(str(cache.root), limit=1).entries == 0
    assert trim.trim(str(cache.root), limit=1).entries == 1


def test_without_locks_it_is_trimmed_all_the_same(cache, limited, monkeypatch):
    old = build_elsewhere(cache, 0, age=HOUR)

    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    (cache.root / "uses").rename(cache.root / "gone")
    monkeypatch.setattr("fcntl.flock", refuse)
    assert trim.trim(str(cache.root), limit=1).entries == 1
    assert not old.exists()


def test_one_that_is_killed_leaves_a_cache_that_works_and_no_leftovers(cache, limited, monkeypatch):
    for number in range(20):
        build_elsewhere(cache, number, age=HOUR * (30 - number), size=1)
    rng = random.Random(7)
    for _ in range(10):
        child = os.fork()
        if child == 0:
            trim.trim(str(cache.root), limit=rng.randrange(1, 200) * KB)
            os._exit(0)
        time.sleep(rng.random() * 0.004)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    for number in range(20):
        build(cache, number, size=1)
    uses.leave()
    trim.trim(str(cache.root), limit=1)
    assert list((cache.root / "tmp").iterdir()) == []
    assert list((cache.root / "locks").iterdir()) == []
    assert list(cache.root.glob("entries/*/*")) == []


def work(cache: Cache, number: int, rounds: int) -> int:
    rng = random.Random(number)
    held: list[Entry] = []
    for _ in range(rounds):
        entry = build(cache, rng.randrange(12), size=20 * KB)
        held.append(entry)
        # All that it was ever given is there to the end.
        assert all(json.loads((x.path / "manifest.json").read_bytes()) for x in held)
    return len({entry.key for entry in held})


def test_many_that_fill_a_small_cache_get_right_results_and_keep_what_they_have(cache, limited):
    limited(150 * KB)
    children = []
    for number in range(6):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                work(Cache(cache.root), number, 25)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
    trim.trim(str(cache.root), limit=150 * KB)
    assert taken(cache) <= 150 * KB


def test_what_was_removed_is_logged(cache, limited, caplog):
    build_elsewhere(cache, 0)
    caplog.set_level(logging.INFO, "tvmffi_cubin")
    trim.trim(str(cache.root), limit=1)
    (record,) = caplog.records
    assert record.levelname == "INFO"
    assert "1 entries" in record.getMessage()
