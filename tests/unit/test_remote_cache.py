"""Machines that share a folder: what one builds the others take, if it is what was built."""

import logging
import os
import shutil
import stat

import pytest
from cache_builder import BASE, Builder
from mounts import with_mount
from processes import in_fork
from remote_kit import KEY, Machine, new_process, warnings

from tvmffi_cubin import bundle, sharing
from tvmffi_cubin.dependency_set import read_sets
from tvmffi_cubin.errors import BuildError
from tvmffi_cubin.level import Level
from tvmffi_cubin.remote import Remote
from tvmffi_cubin.remote_store import RemoteStore

PREFIX = "TVMFFI_CUBIN_CACHE_REMOTE"
OTHER = "cd" * 32

pytest.importorskip("fsspec", reason="the remote cache needs the extra 'remote'")


@pytest.fixture
def remote(tmp_path, monkeypatch):
    folder = tmp_path / "remote"
    monkeypatch.setenv(PREFIX, f"file://{folder}")
    monkeypatch.setenv(f"{PREFIX}_KEY", KEY)
    # No test waits that long unless it fails.
    monkeypatch.setenv(f"{PREFIX}_BUDGET", "60")
    monkeypatch.setattr("tvmffi_cubin.uploads._SPREAD", 0.0)
    return folder


@pytest.fixture
def machines(remote, tmp_path):
    def machine(name, **options):
        new_process()
        return Machine(tmp_path / name, **options)

    return machine


def objects(remote):
    paths = (path for path in remote.rglob("*") if path.is_file())
    return {str(path.relative_to(remote)) for path in paths}


def entry_object(remote):
    (path,) = (remote / "v1" / "entries").rglob("?" * 64)
    return path


# Sharing


def test_what_one_machine_builds_another_takes_whole(machines, remote):
    first, second = machines("first"), machines("second")
    made = first.obtain(Builder(facts={"a": 1}))
    sharing.sharing()._uploads.finish(60)
    new_process()
    found = second.obtain(Builder(b"not built"))
    assert found.is_taken
    assert (found.facts, found.key) == (made.facts, made.key)
    assert found.so.read_bytes() == b"so"
    assert second.cache.root in found.path.parents
    files = [sorted(os.listdir(entry.path)) for entry in (made, found)]
    assert files[0] == files[1]
    assert second.cache.find(BASE).is_taken is False


@pytest.mark.parametrize("name", ["a::b", "a b", "c%20d", "é?x=1#y", "st*r[x]"])
@pytest.mark.parametrize("start", ["", "file://"])
def test_a_folder_may_have_any_name(machines, tmp_path, monkeypatch, name, start):
    monkeypatch.setenv(PREFIX, f"{start}{tmp_path}/{name}")
    assert machines("first").builds()
    assert not machines("second").builds()
    assert (tmp_path / name / "v1" / "records" / BASE).exists()


def test_the_layout_of_the_remote_is_as_documented(machines, remote):
    machine = machines("first")
    assert machine.builds()
    key = machine.cache.find(BASE).key
    assert objects(remote) == {f"v1/records/{BASE}", f"v1/entries/{key[:2]}/{key}"}


@pytest.mark.parametrize("mode", [0o700, 0o2775])
def test_what_lies_there_is_as_open_as_the_folder(machines, remote, mode):
    remote.mkdir()
    remote.chmod(mode)
    before = os.umask(0o027)
    try:
        assert machines("first").builds()
    finally:
        os.umask(before)
    for path in remote.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (mode if path.is_dir() else mode & 0o666)


def test_only_what_asks_for_it_is_shared(machines, remote):
    machines("first").cache.obtain(BASE, Builder())
    assert not remote.exists()
    assert not sharing._known


def test_what_is_taken_holds_for_the_files_here(machines, tmp_path):
    for folder, text in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.h").write_text(text)

    def builds(name, folder):
        machine = machines(name, roots={"$ROOT": str(tmp_path / folder)})
        return machine.builds(dependencies=(str(tmp_path / folder / "x.h"),))

    assert builds("first", "a")
    assert not builds("same content elsewhere", "b")
    assert builds("other content", "c")
    assert not builds("third", "c")
    assert not builds("fourth", "a")


def test_the_record_has_the_last_sixteen_sets(machines, tmp_path):
    header = tmp_path / "x.h"
    for number in range(17):
        header.write_text(str(number))
        assert machines(f"m{number}").builds(dependencies=(str(header),))
    for number, is_forgotten in ((0, True), (2, False), (16, False)):
        header.write_text(str(number))
        assert machines(f"n{number}").builds(dependencies=(str(header),)) == is_forgotten


def test_a_file_that_changed_while_it_was_built_is_not_shared(machines, remote, tmp_path):
    header = tmp_path / "x.h"
    header.write_text("1")
    machine = machines("first")

    def make(directory):
        header.write_text("2")
        return Builder(dependencies=(str(header),))(directory)

    machine.obtain(make)
    assert sharing.sharing()._uploads.finish(60)
    assert not remote.exists()


def test_a_build_that_fails_is_not_shared(machines, remote):
    def make(directory):
        raise BuildError("no", directory=str(directory))

    with pytest.raises(BuildError):
        machines("first").obtain(make)
    assert sharing.sharing()._uploads.finish(60)
    assert not remote.exists()


def test_hosts_that_build_the_same_at_once_upload_it_once(machines, remote, monkeypatch):
    offered = []
    monkeypatch.setattr("tvmffi_cubin.uploads.Uploads.add", lambda self, job: offered.append(job))
    for name in ("first", "second", "third"):
        assert not machines(name).obtain(Builder()).is_taken
    offered.pop()()
    before = entry_object(remote).stat()
    for job in offered:
        job()
    after = entry_object(remote).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_remote_that_is_only_read_gets_nothing(machines, remote, monkeypatch):
    monkeypatch.setenv(f"{PREFIX}_MODE", "read")
    assert machines("first").builds()
    assert not remote.exists()
    monkeypatch.setenv(f"{PREFIX}_MODE", "readwrite")
    assert machines("second").builds()
    monkeypatch.setenv(f"{PREFIX}_MODE", "read")
    assert not machines("third").builds()


def test_a_cache_folder_that_cannot_be_written_is_no_obstacle(machines, tmp_path):
    assert machines("first").builds()
    (tmp_path / "second").write_text("a file")
    found = machines("second").obtain(Builder(b"not built"))
    assert found.is_taken
    assert found.so.read_bytes() == b"so"


# Trust


def damaged(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def truncated(path):
    os.truncate(path, path.stat().st_size // 2)


def emptied(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("harm", [damaged, truncated, emptied])
@pytest.mark.parametrize("which", ["record", "entry"])
def test_what_was_harmed_is_built_again_told_once_and_mended(machines, remote, caplog, harm, which):
    assert machines("first").builds()
    harm(entry_object(remote) if which == "entry" else remote / "v1" / "records" / BASE)
    second = machines("second")
    with caplog.at_level(logging.DEBUG, "tvmffi_cubin"):
        assert second.builds(b"so")
        assert second.builds(b"so", OTHER)
    (told,) = warnings(caplog)
    assert f"remote cache file://{remote} holds what cannot be verified at v1/" in told
    assert "it is left alone for 60 s" in told
    assert not machines("third").builds()


def test_an_object_of_another_name_does_not_pass(machines, remote, caplog):
    first = machines("first")
    assert first.builds(b"one")
    assert first.builds(b"two", OTHER)
    records = remote / "v1" / "records"
    shutil.copy(records / OTHER, records / BASE)
    assert machines("second").builds(b"one")
    assert "was signed with another key" in warnings(caplog)[0]


def test_an_entry_in_the_place_of_another_does_not_pass(machines, remote, caplog):
    first = machines("first")
    assert first.builds(b"one")
    assert first.builds(b"two", OTHER)
    keys = [first.cache.find(base).key for base in (BASE, OTHER)]
    one, two = (remote / "v1" / "entries" / key[:2] / key for key in keys)
    shutil.copy(two, one)
    second = machines("second")
    assert second.builds(b"one")
    assert second.cache.find(BASE).so.read_bytes() == b"one"
    assert len(warnings(caplog)) == 1


def test_what_was_signed_with_another_key_is_not_taken(machines, monkeypatch, caplog):
    assert machines("first").builds()
    monkeypatch.setenv(f"{PREFIX}_KEY", KEY[:-1] + "t")
    assert machines("second").builds()
    assert "was signed with another key" in warnings(caplog)[0]


def test_what_was_damaged_before_it_was_signed_is_not_taken(machines, remote, caplog, tmp_path):
    first = machines("first")
    assert first.builds()
    made = first.cache.find(BASE)
    made.so.write_bytes(b"os")
    (known,) = read_sets(str(first.cache.root / "deps" / f"{BASE}.json"))
    signed = bundle.pack(str(made.path), bundle.Bundle(BASE, known), key=KEY.encode())
    entry_object(remote).write_bytes(signed)
    assert machines("second").builds()
    assert "the content of vec.so is not what was published" in warnings(caplog)[0]


def test_what_is_damaged_is_not_signed(machines, remote, caplog):
    machine, offered = machines("first"), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tvmffi_cubin.uploads.Uploads.add", lambda self, job: offered.append(job))
        machine.obtain(Builder()).so.write_bytes(b"os")
    offered.pop()()
    assert not remote.exists()
    assert warnings(caplog) == []


def test_an_entry_that_the_remote_has_lost_is_put_there_again(machines, remote, caplog):
    assert machines("first").builds()
    entry_object(remote).unlink()
    assert machines("second").builds()
    assert not machines("third").builds()
    assert warnings(caplog) == []


def test_an_entry_that_is_gone_before_it_is_uploaded_is_left_out(machines, remote, caplog):
    machine = machines("first")
    offered = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tvmffi_cubin.uploads.Uploads.add", lambda self, job: offered.append(job))
        made = machine.obtain(Builder())
    shutil.rmtree(made.path)
    offered.pop()()
    assert not remote.exists()
    assert warnings(caplog) == []


# Obstacles


@pytest.mark.parametrize("kind", ["file", "folder", "pipe", "link to itself", "endless"])
def test_odd_things_in_the_place_of_objects_are_survived(machines, remote, kind, monkeypatch):
    if kind == "pipe":
        monkeypatch.setenv(f"{PREFIX}_BUDGET", "0.2")  # opening it waits for ever
    place = remote / "v1" / "records" / BASE
    place.parent.mkdir(parents=True)
    if kind == "file":
        shutil.rmtree(place.parent)
        place.parent.write_text("")
    elif kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "endless":
        place.symlink_to("/dev/zero")
    else:
        place.symlink_to(place)
    machine = machines("first")
    builder = Builder()
    assert machine.obtain(builder).so.read_bytes() == b"so"
    assert builder.runs == 1


def test_a_folder_that_cannot_be_written_is_told_once(machines, remote, caplog):
    remote.mkdir()
    (remote / "v1").write_text("a file")
    machine = machines("first")
    with caplog.at_level(logging.DEBUG, "tvmffi_cubin"):
        assert machine.builds()
        assert machine.builds(b"two", OTHER)
    (told,) = warnings(caplog)
    assert "cannot be written; where that is meant, set TVMFFI_CUBIN_CACHE_REMOTE_MODE=read" in told


def test_a_full_remote_is_told_once_and_leaves_no_half_object(machines, remote, caplog):
    remote.mkdir()

    def work():
        machine = machines("first")
        content = os.urandom(60_000)
        assert machine.builds(content)  # there is room for one
        assert machine.builds(content[::-1], OTHER)
        assert machine.builds(b"small", "ef" * 32)
        return warnings(caplog), [path.split("/")[1] for path in sorted(objects(remote))]

    told, found = with_mount(work, remote, options="size=96k")
    assert found == ["entries", "records"]
    (one,) = told
    assert "cannot be written; where that is meant" in one
    assert "No space left on device" in one


def test_a_process_that_can_start_no_threads_builds_without_it(machines, remote, caplog):
    machine = machines("first")

    def refuse(self):
        raise RuntimeError("can't start new thread")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("threading.Thread.start", refuse)
        assert machine.obtain(Builder()).so.read_bytes() == b"so"
    assert "did not answer as it should (can't start new thread)" in warnings(caplog)[0]
    assert not remote.exists()
    assert sharing.sharing()._uploads.finish(0)


class SlowFiles:
    """Has nothing, and takes a while to say so."""

    now = 0.0

    def get(self, path, *, limit, deadline):
        left = deadline.left()
        self.now += min(left, 0.375)
        if left < 0.375:
            raise TimeoutError("no answer in time")


def test_look_ups_that_find_nothing_wait_for_the_budget_together(caplog):
    files = SlowFiles()
    store = RemoteStore(Remote("file:///r", KEY.encode(), 1.0), files, clock=lambda: files.now)

    def waits(times):
        began = files.now
        for _ in range(times):
            assert store.sets(BASE, store.deadline()) == []
        return files.now - began

    with caplog.at_level(logging.INFO, "tvmffi_cubin"):
        assert waits(100) == 1.0
    (told,) = caplog.messages
    assert "remote cache file:///r had nothing in 1 s of look-ups" in told
    assert warnings(caplog) == []
    files.now += 60
    assert waits(2) == 0.75
    store.found()
    assert waits(100) == 1.0


def test_a_forked_child_asks_on_its_own(machines, tmp_path):
    assert machines("first").builds()
    second = machines("second")
    assert second.builds(b"two", OTHER)

    def work():
        inherited = len(sharing._known)
        entry = second.obtain(Builder(b"not built"))
        return inherited, entry.is_taken, entry.so.read_bytes()

    assert in_fork(work) == (0, True, b"so")


def test_a_fallback_folders_entry_is_shared_too(machines, remote, tmp_path):
    (tmp_path / "first").write_text("a file")
    machine = machines("first")
    made = machine.obtain(Builder())
    assert made.level == "private"
    assert sharing.sharing()._uploads.finish(60)
    assert not machines("second").builds()


def test_the_level_of_a_folder_is_known_from_an_entrys_path(machines):
    machine = machines("first")
    made = machine.obtain(Builder())
    assert Level(str(made.path.parents[2])).entry_path(made.key) == str(made.path)
