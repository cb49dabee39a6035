"""The cache: what is found again, what is built again, and what happens when the folder fails."""

import errno
import json
import logging
import multiprocessing
import os
import shutil
import time
from hashlib import sha256
from pathlib import Path

import pytest

from tvmffi_cubin import cache as cache_module
from tvmffi_cubin import dependency_set, entry, fallback
from tvmffi_cubin.cache import Cache, Product, default
from tvmffi_cubin.errors import BuildError, CacheError
from tvmffi_cubin.folder import cache_folder
from tvmffi_cubin.lock import builder_lock

BASE = "ab" * 32


class Builder:
    """Makes a small product, and counts how often it is asked to."""

    def __init__(self, content=b"so", **product):
        self.content = content
        self.product = product
        self.runs = 0

    def __call__(self, directory):
        self.runs += 1
        (directory / "vec.so").write_bytes(self.content)
        (directory / "vec.cc").write_text("source")
        (directory / "vec.o").write_text("object")
        return Product(so="vec.so", keep=("vec.cc",), **self.product)


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


@pytest.fixture
def header(tmp_path):
    path = tmp_path / "x.h"
    path.write_text("one")
    return path


@pytest.fixture
def settled(monkeypatch):
    """Trust stamps at once, as if the files of the test were old."""
    monkeypatch.setattr(dependency_set, "_SETTLED_NS", -(10**18))


@pytest.fixture(autouse=True)
def no_fallbacks():
    yield
    for folder in fallback._folders.values():
        shutil.rmtree(folder, ignore_errors=True)
    fallback._folders.clear()


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def deps_file(cache):
    return cache.root / "deps" / f"{BASE}.json"


# Finding again


def test_what_was_built_is_found(cache):
    builder = Builder(facts={"lowered": {"k<1>": "_Z1k"}}, versions={"nvrtc": "12.9"})
    made = cache.obtain(BASE, builder)
    found = Cache(cache.root).lookup(BASE)
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
        f"deps/{BASE}.json",
        f"entries/{key[:2]}/{key}/vec.so",
        f"entries/{key[:2]}/{key}/vec.cc",
        f"entries/{key[:2]}/{key}/manifest.json",
        f"locks/{BASE}.lock",
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
    assert cache.lookup(BASE) is None
    assert not cache.root.exists()


def test_another_base_key_is_another_entry(cache):
    cache.obtain(BASE, Builder(b"one"))
    assert cache.obtain("cd" * 32, Builder(b"two")).so.read_bytes() == b"two"
    assert cache.obtain(BASE, Builder(b"not built")).so.read_bytes() == b"one"


def test_a_product_without_its_so_is_refused(cache):
    with pytest.raises(ValueError, match=r"holds no 'vec.so'"):
        cache.obtain(BASE, lambda directory: Product(so="vec.so"))
    assert list((cache.root / "tmp").iterdir()) == []


# Dependencies


def test_a_changed_header_builds_again_and_the_old_content_is_still_known(cache, header):
    builder = Builder(dependencies=(str(header),))
    first = cache.obtain(BASE, builder)
    header.write_text("other")
    assert cache.lookup(BASE) is None
    second = cache.obtain(BASE, builder)
    assert second.path != first.path
    header.write_text("one")
    assert cache.obtain(BASE, builder).path == first.path
    assert builder.runs == 2


def test_a_header_that_was_only_touched_is_a_hit_and_is_hashed_once(
    cache, header, settled, monkeypatch
):
    builder = Builder(dependencies=(str(header),))
    cache.obtain(BASE, builder)
    os.utime(header, ns=(1, 1))
    assert cache.lookup(BASE)
    monkeypatch.setattr("tvmffi_cubin.observer.file_digest", lambda path: pytest.fail("hashed"))
    assert cache.lookup(BASE)


def test_an_unchanged_header_is_not_read(cache, header, settled, monkeypatch):
    cache.obtain(BASE, Builder(dependencies=(str(header),)))
    monkeypatch.setattr("tvmffi_cubin.observer.file_digest", lambda path: pytest.fail("hashed"))
    assert cache.lookup(BASE)


def test_a_header_too_young_for_its_stamp_to_mean_anything_is_read(cache, header):
    cache.obtain(BASE, Builder(dependencies=(str(header),)))
    (data,) = json.loads(deps_file(cache).read_text())["sets"]
    assert data["stamps"] == ["?"]
    assert cache.lookup(BASE)


@pytest.mark.parametrize("text", ["two", "longer"])
def test_a_header_changed_with_its_time_kept_builds_again(cache, header, settled, text):
    cache.obtain(BASE, Builder(dependencies=(str(header),)))
    info = os.stat(header)
    header.write_text(text)
    os.utime(header, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert cache.lookup(BASE) is None


def test_a_header_that_is_gone_builds_again(cache, header):
    cache.obtain(BASE, Builder(dependencies=(str(header),)))
    header.unlink()
    assert cache.lookup(BASE) is None


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_path_that_appears_builds_again(cache, tmp_path, kind):
    early = tmp_path / "early"
    cache.obtain(BASE, Builder(absent=(str(early),)))
    assert cache.lookup(BASE)
    early.write_text("") if kind == "file" else early.mkdir()
    assert cache.lookup(BASE) is None


def test_files_of_the_build_folder_are_no_dependencies(cache):
    def make(directory):
        product = Builder(dependencies=("vec.cc", f"{directory}/generated.h"))(directory)
        (directory / "generated.h").write_text("")
        return product

    cache.obtain(BASE, make)
    (data,) = json.loads(deps_file(cache).read_text())["sets"]
    assert data["names"] == []


def test_files_under_a_root_may_lie_elsewhere(tmp_path):
    for place in ("here", "there"):
        folder = tmp_path / place / "cuda" / "include"
        folder.mkdir(parents=True)
        (folder / "x.h").write_text("same")
    here, there = (
        Cache(
            tmp_path / "cache",
            roots={"$CUDA": f"{tmp_path}/{place}/cuda", "$OUTER": f"{tmp_path}/{place}"},
        )
        for place in ("here", "there")
    )
    builder = Builder(dependencies=(f"{tmp_path}/here/cuda/include/x.h",))
    made = here.obtain(BASE, builder)
    (data,) = json.loads(deps_file(here).read_text())["sets"]
    assert data["names"] == ["$CUDA/include/x.h"]
    assert there.lookup(BASE).path == made.path
    (tmp_path / "there/cuda/include/x.h").write_text("else")
    assert there.lookup(BASE) is None
    assert Cache(tmp_path / "cache").lookup(BASE) is None


def test_a_dependency_through_a_link_and_back_is_the_file_that_was_read(tmp_path, cache):
    (tmp_path / "far/inner").mkdir(parents=True)
    (tmp_path / "far/x.h").write_text("read")
    (tmp_path / "x.h").write_text("not read")
    (tmp_path / "link").symlink_to(tmp_path / "far/inner")
    cache.obtain(BASE, Builder(dependencies=(f"{tmp_path}/link/../x.h",)))
    (tmp_path / "x.h").write_text("changed")
    assert cache.lookup(BASE)
    (tmp_path / "far/x.h").write_text("changed")
    assert cache.lookup(BASE) is None


def test_a_header_that_changes_during_the_build_serves_this_call_only(cache, header):
    def make(directory):
        header.write_text("changed while the compiler ran")
        future = time.time_ns() + 10**9
        os.utime(header, ns=(future, future))
        return Builder(dependencies=(str(header),))(directory)

    assert cache.obtain(BASE, make).so.read_bytes() == b"so"
    assert cache.lookup(BASE) is None


def test_ever_new_contents_do_not_grow_the_record_for_ever(cache, header):
    for number in range(20):
        header.write_text(str(number))
        cache.obtain(BASE, Builder(dependencies=(str(header),)))
    assert len(json.loads(deps_file(cache).read_text())["sets"]) == 16
    assert cache.lookup(BASE)


@pytest.mark.parametrize(
    "roots", [{"CUDA": "/x"}, {"$A/b": "/x"}, {"$A": "relative"}], ids=["name", "slash", "relative"]
)
def test_roots_that_would_be_ambiguous_are_refused(tmp_path, roots):
    with pytest.raises(ValueError, match="roots must map"):
        Cache(tmp_path, roots=roots)


# Damage


DAMAGE = [b"", b"{", b"null", b"[]", b'{"schema": 99}', b"\xff", b"[" * 100_000]


@pytest.mark.parametrize("damage", [*DAMAGE, b'{"schema": 1, "sets": [{"entry": "x"}]}'])
def test_a_damaged_record_of_dependencies_is_a_miss_and_is_repaired(cache, damage):
    made = cache.obtain(BASE, Builder())
    deps_file(cache).write_bytes(damage)
    assert cache.lookup(BASE) is None
    assert cache.obtain(BASE, Builder(b"discarded")).so.read_bytes() == b"so"
    assert cache.lookup(BASE).path == made.path


@pytest.mark.parametrize(
    "column", [["x"], ["x", "y"], "names", [1], [""], None], ids=lambda value: repr(value)
)
def test_a_record_with_impossible_columns_is_a_miss(cache, column):
    cache.obtain(BASE, Builder())
    data = json.loads(deps_file(cache).read_text())
    data["sets"][0]["names"] = column
    deps_file(cache).write_text(json.dumps(data))
    assert cache.lookup(BASE) is None


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_manifest_is_a_miss_and_is_repaired(cache, damage):
    made = cache.obtain(BASE, Builder())
    (made.path / "manifest.json").write_bytes(damage)
    assert cache.lookup(BASE) is None
    assert cache.obtain(BASE, Builder(b"again")).so.read_bytes() == b"again"
    assert cache.lookup(BASE).path == made.path
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
    assert cache.lookup(BASE) is None
    assert cache.obtain(BASE, Builder(b"whole")).so.read_bytes() == b"whole"
    assert cache.lookup(BASE)


def test_what_killed_builders_left_behind_does_not_disturb(cache):
    left = cache.root / "tmp" / "12345-dead"
    left.mkdir(parents=True)
    (left / "vec.so").write_bytes(b"half")
    (cache.root / "locks").mkdir()
    (cache.root / "locks" / f"{BASE}.lock").write_text("")
    (cache.root / "deps").mkdir()
    (cache.root / "deps" / ".12345-dead.tmp").write_text("{")
    assert cache.obtain(BASE, Builder()).so.read_bytes() == b"so"


# Several builders


def build_and_report(root, barrier, results, number):
    builder = Builder(f"builder {number:02}".encode())
    barrier.wait()
    made = Cache(Path(root)).obtain(BASE, builder)
    results.put((builder.runs, str(made.so), made.so.read_bytes()))


def publish_and_report(root, barrier, results, number):
    cache = Cache(Path(root))
    with cache.private_directory() as directory:
        product = Builder(f"builder {number:02}".encode())(directory)
        barrier.wait()
        made = cache.publish(BASE, product, directory)
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
    assert cache.lookup(BASE).so.read_bytes() == answers[0][2]


def test_a_builder_that_takes_too_long_is_not_waited_for(cache):
    lock = cache.root / "locks" / f"{BASE}.lock"
    with builder_lock(str(lock), patience=0) as held:
        assert held
        made = cache.obtain(BASE, Builder(), patience=0)
    assert made.so.read_bytes() == b"so"


def test_a_lock_is_free_again_after_its_holder_died(tmp_path):
    path = str(tmp_path / "locks" / "x.lock")

    def hold_and_die():
        with builder_lock(path, patience=0):
            os._exit(0)

    child = multiprocessing.get_context("fork").Process(target=hold_and_die)
    child.start()
    child.join()
    with builder_lock(path, patience=0) as held:
        assert held


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
    assert cache.lookup(BASE) is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, FileNotFoundError])
def test_an_interrupted_build_leaves_nothing(cache, error):
    def make(directory):
        (directory / "a.cc").write_text("half")
        raise error

    with pytest.raises(error):
        cache.obtain(BASE, make)
    assert list((cache.root / "tmp").iterdir()) == []
    assert cache.obtain(BASE, Builder())


# A folder that cannot take files


@pytest.fixture
def unwritable(tmp_path):
    # Permissions do not stop root; a path below a plain file stops everybody.
    (tmp_path / "file").write_text("")
    return Cache(tmp_path / "file" / "cache")


def test_an_unwritable_folder_is_replaced_for_this_process_with_one_warning(unwritable, caplog):
    builder = Builder()
    with caplog.at_level(logging.WARNING, "tvmffi_cubin"):
        made = unwritable.obtain(BASE, builder)
        again = Cache(unwritable.root).obtain(BASE, builder)
        unwritable.obtain("cd" * 32, Builder())
    assert made.so.read_bytes() == b"so"
    assert again.path == made.path
    assert builder.runs == 1
    (record,) = caplog.records
    assert str(unwritable.root) in record.getMessage()
    assert "TVMFFI_CUBIN_CACHE_DIR" in record.getMessage()


def test_a_read_only_folder_still_serves_what_it_has(cache, monkeypatch):
    made = cache.obtain(BASE, Builder())

    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("mkdir", "makedirs", "rename", "replace"):
        monkeypatch.setattr(cache_module.os, name, refuse)
    assert cache.obtain(BASE, Builder(b"not built")).path == made.path


def full(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_fills_up_when_publishing_is_replaced(cache, monkeypatch, caplog):
    real = cache_module.write_manifest

    def write(directory, product, *, base_key):
        if directory.startswith(str(cache.root)):
            full()
        real(directory, product, base_key=base_key)

    monkeypatch.setattr(cache_module, "write_manifest", write)
    builder = Builder()
    assert cache.obtain(BASE, builder).so.read_bytes() == b"so"
    assert cache.obtain(BASE, builder).so.read_bytes() == b"so"
    assert builder.runs == 1
    assert len(caplog.records) == 1
    assert list((cache.root / "tmp").iterdir()) == []


@pytest.mark.parametrize("way", ["ours", "limit", "compiler"])
def test_a_disk_that_fills_up_while_building_is_replaced(cache, way):
    def make(directory):
        if directory.is_relative_to(cache.root):
            if way == "ours":
                full()
            if way == "limit":
                raise OSError(errno.EFBIG, "File too large")
            raise BuildError("no", output="as: No space left on device", directory=str(directory))
        return Builder()(directory)

    assert cache.obtain(BASE, make).so.read_bytes() == b"so"
    assert list((cache.root / "tmp").iterdir()) == []


def test_a_disk_with_hardly_any_room_is_replaced_before_the_build(cache, monkeypatch):
    class Space:
        f_blocks, f_bavail, f_frsize = 1000, 1, 4096

    seen = []
    real = os.statvfs

    def statvfs(path):
        return Space if str(path).startswith(str(cache.root)) else real(path)

    def make(directory):
        seen.append(directory)
        return Builder()(directory)

    monkeypatch.setattr(cache_module.os, "statvfs", statvfs)
    cache.obtain(BASE, make)
    assert not seen[0].is_relative_to(cache.root)


def test_without_any_room_the_error_names_both_folders_and_the_remedy(unwritable, monkeypatch):
    monkeypatch.setattr("tempfile.mkdtemp", full)
    with pytest.raises(CacheError, match="TVMFFI_CUBIN_CACHE_DIR") as caught:
        unwritable.obtain(BASE, Builder())
    assert str(unwritable.root) in str(caught.value)
    assert "No space left" in str(caught.value)


def test_a_failing_disk_is_an_error_that_names_the_folder(cache, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(cache_module, "write_manifest", fail)
    with pytest.raises(CacheError, match="Input/output error") as caught:
        cache.obtain(BASE, Builder())
    assert str(cache.root) in str(caught.value)


def test_a_disk_that_fills_up_when_recording_is_replaced(cache, monkeypatch):
    real = cache_module.write_sets

    def write(path, newest, others):
        if path.startswith(str(cache.root)):
            full()
        real(path, newest, others)

    monkeypatch.setattr(cache_module, "write_sets", write)
    builder = Builder()
    assert cache.obtain(BASE, builder).so.read_bytes() == b"so"
    assert cache.obtain(BASE, builder).so.read_bytes() == b"so"
    assert builder.runs == 1


# Where it is


def test_the_variable_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "mine"))
    assert default().root == tmp_path / "mine"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", "~/mine")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default().root == tmp_path / "mine"


def test_a_folder_that_nothing_could_be_loaded_from_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", f"{tmp_path}/\udcff")
    with pytest.raises(CacheError, match=r"udcff.* is no Unicode text.*TVMFFI_CUBIN_CACHE_DIR"):
        cache_folder()


@pytest.mark.parametrize("variable", ["", "  ", "/somewhere/cache"])
def test_the_default_is_the_users_cache_folder(tmp_path, monkeypatch, variable):
    platformdirs = pytest.importorskip("platformdirs")
    monkeypatch.delenv("TVMFFI_CUBIN_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", variable)
    assert cache_folder() == str(platformdirs.user_cache_path("tvmffi_cubin"))


def test_without_a_home_the_error_names_the_variable(monkeypatch):
    monkeypatch.delenv("TVMFFI_CUBIN_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.raises(CacheError, match="TVMFFI_CUBIN_CACHE_DIR"):
        default()


def test_an_entry_of_another_schema_is_no_entry(cache):
    made = cache.obtain(BASE, Builder())
    manifest = json.loads((made.path / "manifest.json").read_text())
    (made.path / "manifest.json").write_text(json.dumps({**manifest, "schema": 2}))
    assert entry.read_entry(str(made.path)) is None
