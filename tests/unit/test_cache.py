"""The cache: what is found again, what is built anew and why, and several builders of one key."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
from cache_builder import BASE, Builder, look_up, recorded

from tvmffi_cubin.cache import files, publish
from tvmffi_cubin.cache.files import copy_atomically
from tvmffi_cubin.cache.publish import builder_lock
from tvmffi_cubin.cache.store import Cache
from tvmffi_cubin.cache.upkeep import prune
from tvmffi_cubin.errors import BuildError


@pytest.fixture
def header(tmp_path) -> Path:
    path = tmp_path / "x.h"
    path.write_text("one")
    return path


@pytest.fixture
def settled(monkeypatch):
    """Trust stamps at once, as if the files of the test were old."""
    monkeypatch.setattr(files, "_SETTLED_NS", -(10**18))


def names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# Finding again


def test_what_was_built_is_found_and_lies_as_documented(cache):
    assert cache.find(BASE) == "nothing was built with these inputs"
    assert not cache.root.exists()
    builder = Builder(facts={"lowered": {"k<1>": "_Z1k"}})
    made = cache.obtain(BASE, builder)
    found = look_up(Cache(cache.root))
    assert (found.so, found.path, found.so.read_bytes()) == (made.so, made.path, b"so")
    assert found.facts == {"lowered": {"k<1>": "_Z1k"}}
    cache.obtain(BASE, builder)
    assert builder.runs == 1
    folder = f"entries/{made.path.name[:2]}/{made.path.name}"
    assert names_in(cache.root) == {
        *(f"records/{BASE}.json", "looked"),
        *(f"{folder}/{name}" for name in ("vec.so", "vec.cc", "manifest.json")),
    }
    assert list((cache.root / "tmp").iterdir()) == []


def test_a_miss_says_what_is_the_matter_with_the_entry(cache):
    made = cache.obtain(BASE, Builder(b"whole"))
    made.so.write_bytes(b"other")
    assert cache.find(BASE) == ("its entry is damaged: vec.so does not match its checksum")
    made.so.unlink()
    assert "No such file or directory: '" in cache.find(BASE)
    shutil.rmtree(made.path)
    assert cache.find(BASE) == "its entry was removed"


def test_a_copy_that_is_a_layer_is_known_by_sizes_and_seconds(cache, tmp_path, monkeypatch):
    cache.obtain(BASE, Builder())
    layer = shutil.copytree(cache.root, tmp_path / "layer")
    (copy,) = layer.glob("entries/*/*/vec.so")
    seconds = copy.stat().st_mtime_ns // 10**9
    for path in copy.parent.iterdir():
        os.utime(path, (seconds, seconds))
    found = Cache(tmp_path / "own", layers=[layer])
    with monkeypatch.context() as patch:
        patch.setattr("tvmffi_cubin.cache.entry.file_digest", lambda path: pytest.fail("hashed"))
        assert look_up(found).so == copy
    copy.write_bytes(b"no")
    assert "vec.so does not match its checksum" in found.find(BASE)


# Files that builds read


def test_a_header_is_read_only_where_its_stamp_changed(cache, header, settled, monkeypatch):
    cache.obtain(BASE, Builder(dependencies=(str(header),)))
    os.utime(header, ns=(1, 1))
    assert look_up(cache)
    monkeypatch.setattr("tvmffi_cubin.cache.entry.file_digest", lambda path: pytest.fail("hashed"))
    assert look_up(cache)


def test_where_nothing_may_be_built_headers_are_looked_at_once_a_process(cache, header, settled):
    cache.obtain(BASE, Builder(dependencies=(str(header),)))
    sealed = Cache(cache.root, mode="require")
    assert look_up(sealed) is not None
    header.write_text("another")
    assert look_up(sealed) is not None
    assert look_up(cache) is None


@pytest.mark.parametrize("text", ["two", "longer"])
def test_a_header_changed_with_its_time_kept_builds_again(cache, header, settled, text):
    cache.obtain(BASE, Builder(dependencies=(str(header),)))
    info = os.stat(header)
    header.write_text(text)
    os.utime(header, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert look_up(cache) is None


def test_a_miss_names_the_file_that_changed_went_or_appeared(cache, tmp_path):
    names = [str(tmp_path / name) for name in ("a.h", "b.h", "c.h", "d.h")]
    for name in names[:3]:
        Path(name).write_text("one")
    cache.obtain(BASE, Builder(dependencies=tuple(names[:3]), absent=(names[3],)))
    Path(names[0]).unlink()
    Path(names[1]).write_text("two")
    Path(names[3]).mkdir()
    assert cache.find(BASE) == f"{names[0]} no longer exists"
    Path(names[0]).write_text("one")
    assert cache.find(BASE) == f"{names[1]} changed"
    Path(names[1]).write_text("one")
    assert cache.find(BASE) == f"{names[3]} now exists"


def test_links_lead_to_the_file_that_was_read(tmp_path):
    (tmp_path / "far/inner").mkdir(parents=True)
    (tmp_path / "far/x.h").write_text("read")
    (tmp_path / "x.h").write_text("not read")
    (tmp_path / "link").symlink_to(tmp_path / "far/inner")
    # gcc 12 writes the shorter of a system header's path and its real path into the depfile.
    cache = Cache(tmp_path / "cache", roots=lambda: {"$CUDA": f"{tmp_path}/link"})
    (tmp_path / "far/inner/y.h").write_text("")
    read = (f"{tmp_path}/link/../x.h", f"{tmp_path}/link/y.h", f"{tmp_path}/far/inner/y.h")
    cache.obtain(BASE, Builder(dependencies=read))
    assert [*recorded(cache)[0][2]] == ["$CUDA/y.h", f"{tmp_path}/far/x.h"]


def test_ever_new_contents_do_not_grow_the_record_for_ever(cache, header):
    for number in range(20):
        header.write_text(str(number))
        cache.obtain(BASE, Builder(dependencies=(str(header),)))
        assert look_up(cache)
    assert len(recorded(cache)) == 16


# Several builders


def test_a_builder_that_takes_too_long_is_not_waited_for(cache):
    with builder_lock(f"{cache.root}/locks/{BASE}.lock", patience=0) as held:
        assert held
        made = cache.obtain(BASE, Builder(), patience=0)
    assert made.so.read_bytes() == b"so"


def test_who_waits_long_is_told_for_what(cache, monkeypatch, caplog):
    monkeypatch.setattr(publish, "_TOLD", 0.0)

    def make(directory):
        # Another who wants the same meanwhile.
        Cache(cache.root).obtain(BASE, Builder(), patience=0.1, name="second")
        return Builder()(directory)

    cache.obtain(BASE, make, name="attention")
    assert caplog.messages == ["waiting for another build of second"]


def test_it_is_free_again_although_a_child_was_forked_meanwhile(tmp_path):
    read, write = os.pipe()
    with builder_lock(f"{tmp_path}/x.lock", patience=0):
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(read, 1)  # lives until the test has ended
            os._exit(0)
    try:
        with builder_lock(f"{tmp_path}/x.lock", patience=0) as held:
            assert held
    finally:
        os.close(write)
        os.waitpid(child, 0)


def test_ctrl_c_ends_the_wait_for_another_builder(tmp_path):
    with builder_lock(f"{tmp_path}/x.lock", patience=0) as held:
        assert held
        main, began = threading.get_ident(), time.monotonic()
        threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt), builder_lock(f"{tmp_path}/x.lock", patience=60):
            pass
        assert time.monotonic() - began < 10


# Failing builds


def test_the_folder_of_a_failed_build_is_kept_for_a_day(cache):
    def make(directory):
        (directory / "a.cc").write_text("wrong")
        raise BuildError("no", output="a.cc:1: error")

    with pytest.raises(BuildError):
        cache.obtain(BASE, make)
    (folder,) = (cache.root / "tmp").iterdir()
    assert (folder / "a.cc").read_text() == "wrong"
    assert look_up(cache) is None
    for hours, is_kept in ((23, True), (25, False)):
        used = time.time() - 3600 * hours
        os.utime(folder, (used, used))
        prune(str(cache.root), None)
        assert folder.exists() == is_kept


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_build_leaves_nothing(cache, error):
    def make(directory):
        (directory / "a.cc").write_text("half")
        raise error

    with pytest.raises(error):
        cache.obtain(BASE, make)
    assert list((cache.root / "tmp").iterdir()) == []
    assert cache.obtain(BASE, Builder())


# Files appear whole


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "entry" / "vec.so"
    path.parent.mkdir()
    path.write_bytes(b"new")
    path.chmod(0o755)
    return path


def test_a_copy_replaces_what_is_there_and_is_made_once(source, tmp_path):
    target = tmp_path / "vec.so"
    target.write_bytes(b"old")
    with open(target, "rb") as mapped:
        copy_atomically(source, target)
        assert mapped.read() == b"old"
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"new", 0o755)
    before = target.stat().st_ino
    copy_atomically(source, target)
    assert target.stat().st_ino == before
    target.unlink()
    target.symlink_to(source)
    copy_atomically(source, target)
    assert not target.is_symlink()
    assert target.read_bytes() == b"new"
