"""The cache's folders: which they are, who may write them, and what stands in for one."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

import pytest
from cache_builder import BASE, Builder, look_up
from processes import in_fork

from tvmffi_cubin.cache import publish
from tvmffi_cubin.cache.store import Cache, default, stand_ins
from tvmffi_cubin.errors import CacheError
from tvmffi_cubin.host import build
from tvmffi_cubin.host.steps import Step

OTHER = "cd" * 32
NOBODY = 65534
IS_ROOT = os.geteuid() == 0

needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can be another user")


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    for name in ("", "_PATH"):
        monkeypatch.delenv(f"TVMFFI_CUBIN_CACHE{name}", raising=False)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    for made in stand_ins.values():
        shutil.rmtree(made, ignore_errors=True)
    stand_ins.clear()


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    Cache(tmp_path / "layer").obtain(BASE, Builder(b"layer"))
    return tmp_path / "layer"


# A folder that cannot take files


def test_one_that_cannot_be_made_is_replaced_for_this_process_with_one_warning(tmp_path, caplog):
    # Permissions do not stop root; this stops everybody.
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "cache"
    builder = Builder()
    made = Cache(path).obtain(BASE, builder)
    assert made.level == "private"
    assert Cache(path).obtain(BASE, builder).path == made.path
    assert builder.runs == 1
    (line,) = caplog.messages
    assert str(path) in line
    assert "TVMFFI_CUBIN_CACHE_DIR" in line


def full(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("when", ["building", "linking", "publishing", "recording"])
def test_a_disk_that_fills_up_is_replaced(cache, monkeypatch, caplog, when):
    def make(directory):
        if when == "building" and directory.is_relative_to(cache.root):
            full()
        if when == "linking" and directory.is_relative_to(cache.root):
            said = "echo ld: final link failed: No space left on device; exit 1"
            build.run([Step("a.so", ("sh", "-c", said), ())], directory, {})
        return Builder()(directory)

    def full_at(where, name):
        real = getattr(where, name)

        def write(path, *args, **options):
            return (full if str(cache.root) in path else real)(path, *args, **options)

        monkeypatch.setattr(where, name, write)

    if when == "publishing":
        full_at(publish, "write_sealed")
    elif when == "recording":
        full_at(publish, "write_record")
    for base_key in (BASE, OTHER, BASE):
        made = cache.obtain(base_key, make)
        assert made.so.read_bytes() == b"so"
        assert made.level == "private" or when == "recording"
    assert len(caplog.records) == 1
    assert list((cache.root / "tmp").iterdir()) == []


# Modes


def files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def test_reading_only_finds_what_there_is_and_writes_nothing(root, monkeypatch, caplog):
    default().obtain(BASE, Builder())
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "read")
    before = files(root)
    assert default().obtain(BASE, Builder(b"not built")).level == "cache"
    builder = Builder(b"other")
    for _ in range(2):
        made = default().obtain(OTHER, builder)
        assert (made.level, made.so.read_bytes()) == ("private", b"other")
    assert builder.runs == 1
    assert files(root) == before
    assert not caplog.records


def test_off_looks_nothing_up_and_builds_once_a_process(root, layer, monkeypatch, caplog):
    default().obtain(BASE, Builder())
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", str(layer))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "off")
    before = files(root)
    builder = Builder(b"own")
    for _ in range(2):
        made = default().obtain(BASE, builder)
        assert (made.level, made.so.read_bytes()) == ("private", b"own")
    assert builder.runs == 1
    assert files(root) == before
    assert in_fork(lambda: default().obtain(BASE, Builder(b"child")).so.read_bytes()) == b"child"
    assert not caplog.records


def test_a_wrong_value_is_refused_by_name(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "yes")
    with pytest.raises(ValueError, match=r"TVMFFI_CUBIN_CACHE must be .*, got 'yes'"):
        default()


# Layers


def test_layers_are_looked_through_first(layer, monkeypatch, tmp_path):
    default().obtain(BASE, Builder(b"own"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for path in (f"{tmp_path}/layer", "~/layer", "layer", f"::{tmp_path}/layer:"):
        monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", f"missing:{path}")
        assert default().find(BASE).so.read_bytes() == b"layer"


def test_a_layer_that_others_may_write_is_refused_and_one_of_another_user_is_not(
    layer, monkeypatch
):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", str(layer))
    if IS_ROOT:
        os.chown(layer, NOBODY, NOBODY)
    assert look_up(default()).level == "layer"
    layer.chmod(0o775)
    with pytest.raises(CacheError, match=rf"layer {layer} is unsafe: .* mode is 0775,.*chmod go-w"):
        default()


# Who may write


def test_the_folder_is_made_for_its_user_alone(tmp_path, monkeypatch):
    root = tmp_path / "new" / "cache"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", "~/new/cache")
    default().obtain(BASE, Builder())
    assert {stat.S_IMODE(x.stat().st_mode) for x in (root, root.parent)} == {0o700}
    root.chmod(0o755)
    assert look_up(default())
    # Whatever the modes are in them.
    assert {stat.S_IMODE(x.stat().st_mode) for x in root.iterdir() if x.is_dir()} == {0o700}


@pytest.mark.parametrize("mode", [0o720, 0o1777])
def test_a_folder_that_others_may_write_is_refused_with_the_remedy(root, mode):
    default().obtain(BASE, Builder())
    root.chmod(mode)
    told = rf"cache folder {root} is unsafe: .* mode is {mode:04o},.* use a folder"
    with pytest.raises(CacheError, match=told):
        default()
    root.chmod(mode & ~0o1022)
    assert look_up(default())


@needs_root
def test_one_of_another_user_is_refused(root):
    default().obtain(BASE, Builder())
    os.chown(root, NOBODY, NOBODY)
    with pytest.raises(CacheError, match=f"belongs to user {NOBODY},.* use a folder"):
        default()
