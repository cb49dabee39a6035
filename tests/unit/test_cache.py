"""The cache: what is found again, what is damaged, and several builders of one module."""

import json
import multiprocessing
import os
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from cache_builder import BASE, Builder, look_up, record_file

from tvmffi_cubin.cache import lock
from tvmffi_cubin.cache.lock import builder_lock
from tvmffi_cubin.cache.store import Cache
from tvmffi_cubin.errors import BuildError


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# Finding again


def test_what_was_built_is_found(cache):
    builder = Builder(facts={"lowered": {"k<1>": "_Z1k"}}, versions={"nvrtc": "12.9"})
    made = cache.obtain(BASE, builder)
    found = look_up(Cache(cache.root))
    assert (found.so, found.path) == (made.so, made.path)
    assert found.so.read_bytes() == b"so"
    assert found.facts == {"lowered": {"k<1>": "_Z1k"}}
    assert found.manifest["versions"] == {"nvrtc": "12.9"}
    cache.obtain(BASE, builder)
    assert builder.runs == 1


def test_the_layout_is_as_documented(cache):
    made = cache.obtain(BASE, Builder())
    key = made.path.name
    assert files(cache.root) == {
        f"records/{BASE}.json",
        "size",
        f"entries/{key[:2]}/{key}/vec.so",
        f"entries/{key[:2]}/{key}/vec.cc",
        f"entries/{key[:2]}/{key}/manifest.json",
    }
    assert list((cache.root / "tmp").iterdir()) == []


def test_the_manifest_has_size_and_digest_of_every_file(cache):
    made = cache.obtain(BASE, Builder())
    manifest = json.loads((made.path / "manifest.json").read_text())
    assert manifest["files"] == {
        "vec.so": [2, sha256(b"so").hexdigest()],
        "vec.cc": [6, sha256(b"source").hexdigest()],
    }


def test_a_miss_creates_nothing(cache):
    assert look_up(cache) is None
    assert not cache.root.exists()


# Damage


DAMAGE = [b"", b"{", b"null", b"[]", b'{"schema": 99}', b"\xff", b"[" * 100_000]


@pytest.mark.parametrize("damage", [*DAMAGE, b'{"reads": [["x"]]}'])
def test_a_damaged_record_of_dependencies_is_a_miss_and_is_repaired(cache, damage):
    made = cache.obtain(BASE, Builder())
    Path(record_file(cache)).write_bytes(damage)
    assert look_up(cache) is None
    assert cache.obtain(BASE, Builder(b"discarded")).so.read_bytes() == b"so"
    assert look_up(cache).path == made.path


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_manifest_is_a_miss_and_is_repaired(cache, damage):
    made = cache.obtain(BASE, Builder())
    (made.path / "manifest.json").write_bytes(damage)
    assert look_up(cache) is None
    assert cache.obtain(BASE, Builder(b"again")).so.read_bytes() == b"again"
    assert look_up(cache).path == made.path
    assert list((cache.root / "tmp").iterdir()) == []


@pytest.mark.parametrize("harm", ["truncate", "remove", "empty folder", "remove folder"])
def test_a_shared_object_that_is_not_whole_is_a_miss_and_is_repaired(cache, harm):
    made = cache.obtain(BASE, Builder(b"whole"))
    if harm == "truncate":
        os.truncate(made.so, 3)
    elif harm == "remove":
        made.so.unlink()
    else:
        shutil.rmtree(made.path)
        if harm == "empty folder":
            made.path.mkdir()
    assert look_up(cache) is None
    assert cache.obtain(BASE, Builder(b"whole")).so.read_bytes() == b"whole"
    assert look_up(cache)


# Several builders


def build_and_report(root, barrier, results, number):
    builder = Builder(f"builder {number:02}".encode())
    barrier.wait()
    made = Cache(Path(root)).obtain(BASE, builder)
    results.put((builder.runs, str(made.so), made.so.read_bytes()))


def publish_and_report(root, barrier, results, number):
    def make(directory):
        product = Builder(f"builder {number:02}".encode())(directory)
        barrier.wait()
        return product

    made = Cache(Path(root)).obtain(BASE, make, patience=0)
    results.put((1, str(made.so), made.so.read_bytes()))


def race(target, root, count=8):
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(count), context.Queue()
    workers = [
        context.Process(target=target, args=(str(root), barrier, results, number))
        for number in range(count)
    ]
    for worker in workers:
        worker.start()
    answers = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    return answers


def test_of_many_processes_one_builds_and_all_get_the_same(cache):
    answers = race(build_and_report, cache.root)
    assert sum(runs for runs, _, _ in answers) == 1
    assert len({answer[1:] for answer in answers}) == 1


def test_of_many_that_publish_one_wins_and_all_use_it(cache):
    answers = race(publish_and_report, cache.root)
    assert len({answer[1:] for answer in answers}) == 1
    assert list((cache.root / "tmp").iterdir()) == []
    assert look_up(cache).so.read_bytes() == answers[0][2]


def test_a_builder_that_takes_too_long_is_not_waited_for(cache):
    path = cache.root / "locks" / f"{BASE}.lock"
    with builder_lock(str(path), patience=0) as held:
        assert held
        made = cache.obtain(BASE, Builder(), patience=0)
    assert made.so.read_bytes() == b"so"


def test_who_waits_long_is_told_for_whom(cache, monkeypatch, caplog):
    monkeypatch.setattr(lock, "_TOLD", 0.0)

    def make(directory):
        # Another who wants the same meanwhile.
        Cache(cache.root).obtain(BASE, Builder(), patience=0.1, name="second")
        return Builder()(directory)

    cache.obtain(BASE, make, name="attention")
    said = f"waiting for process {os.getpid()} on {os.uname().nodename}, which builds attention; "
    (line,) = caplog.messages
    assert said in line


def test_a_lock_is_free_again_although_a_child_was_forked_meanwhile(tmp_path):
    path = str(tmp_path / "locks" / "x.lock")
    read, write = os.pipe()
    with builder_lock(path, patience=0):
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(read, 1)  # lives until the test has ended
            os._exit(0)
    try:
        with builder_lock(path, patience=0) as held:
            assert held
    finally:
        os.close(write)
        os.waitpid(child, 0)


# Failing builds


def test_a_failed_build_keeps_its_folder(cache):
    seen = []

    def make(directory):
        seen.append(directory)
        (directory / "a.cc").write_text("wrong")
        raise BuildError("no", output="a.cc:1: error")

    with pytest.raises(BuildError):
        cache.obtain(BASE, make)
    assert (seen[0] / "a.cc").read_text() == "wrong"
    assert look_up(cache) is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, FileNotFoundError])
def test_an_interrupted_build_leaves_nothing(cache, error):
    def make(directory):
        (directory / "a.cc").write_text("half")
        raise error

    with pytest.raises(error):
        cache.obtain(BASE, make)
    assert list((cache.root / "tmp").iterdir()) == []
    assert cache.obtain(BASE, Builder())
