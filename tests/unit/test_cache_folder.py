"""The cache: where its folder is, and what happens when it cannot take files."""

import errno
import fcntl
import logging
import os
import resource
import shutil
import sys
from pathlib import Path

import pytest
from cache_builder import BASE, Builder
from processes import in_fork

from tvmffi_cubin.cache import entry, private, store
from tvmffi_cubin.cache.folder import cache_folder
from tvmffi_cubin.cache.store import Cache, default
from tvmffi_cubin.errors import BuildError, CacheError


@pytest.fixture(autouse=True)
def no_fallbacks():
    yield
    for folder in private._roots.values():
        shutil.rmtree(folder, ignore_errors=True)
    private._roots.clear()


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
        monkeypatch.setattr(os, name, refuse)
    assert cache.obtain(BASE, Builder(b"not built")).path == made.path


def full(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_fills_up_when_publishing_is_replaced(cache, monkeypatch, caplog):
    real = entry.write_manifest

    def write(directory, product, *, base_key, key):
        if directory.startswith(str(cache.root)):
            full()
        real(directory, product, base_key=base_key, key=key)

    monkeypatch.setattr(entry, "write_manifest", write)
    builder = Builder()
    assert cache.obtain(BASE, builder).so.read_bytes() == b"so"
    assert cache.obtain(BASE, builder).so.read_bytes() == b"so"
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


def test_without_any_room_the_error_names_both_folders_and_the_remedy(unwritable, monkeypatch):
    monkeypatch.setattr("tvmffi_cubin.cache.private.temporary_folder", full)
    with pytest.raises(CacheError, match="TVMFFI_CUBIN_CACHE_DIR") as caught:
        unwritable.obtain(BASE, Builder())
    assert str(unwritable.root) in str(caught.value)
    assert "No space left" in str(caught.value)


@pytest.mark.parametrize("name", ["loop", "long", "device"])
def test_a_path_that_cannot_be_a_folder_is_replaced(tmp_path, caplog, name):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    names = {"loop": tmp_path / "loop", "long": tmp_path / ("x" * 300), "device": "/dev/null"}
    cache = Cache(Path(names[name]))
    assert cache.obtain(BASE, Builder()).level == "private"
    assert cache.obtain(BASE, Builder(b"not built")).so.read_bytes() == b"so"
    assert len(caplog.records) == 1


def test_a_limit_on_the_size_of_files_is_a_full_disk(cache, monkeypatch):
    # Python keeps modules' bytecode that such a limit has cut off, and fails to read it for ever.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def make(directory):
        if directory.is_relative_to(cache.root):
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        return Builder(bytes(9000))(directory)

    assert in_fork(lambda: cache.obtain(BASE, make).level) == "private"


def test_a_disk_that_fills_up_when_recording_is_replaced(cache, monkeypatch):
    real = store.write_record

    def write(path, newest):
        if path.startswith(str(cache.root)):
            full()
        real(path, newest)

    monkeypatch.setattr(store, "write_record", write)
    builder = Builder()
    assert cache.obtain(BASE, builder).so.read_bytes() == b"so"
    assert cache.obtain(BASE, builder).so.read_bytes() == b"so"
    assert builder.runs == 2


# Where it is


def test_the_variable_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "mine"))
    assert default().root == tmp_path / "mine"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", "~/mine")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default().root == tmp_path / "mine"


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


def test_a_folder_is_locked_while_it_is_removed(cache, monkeypatch):
    # A builder that has just made it would lock it otherwise, and lose what it writes there.
    parent = f"{cache.root}/tmp"
    left = f"{parent}/{os.uname().nodename}-1-{'0' * 16}"
    os.makedirs(left)
    removed = []

    def remove(path):
        descriptor = os.open(path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)
        removed.append(path)

    monkeypatch.setattr(private, "remove", remove)
    private.sweep(parent)
    assert removed == [left]
