"""The folders that the environment names for the cache: modes, layers, and who may write them."""

from __future__ import annotations

import logging
import os
import shutil
import stat
from pathlib import Path

import pytest
from cache_builder import BASE, Builder, look_up
from other_users import NOBODY, let_others_reach
from processes import in_fork

from tvmffi_cubin.cache import folder as places
from tvmffi_cubin.cache import private
from tvmffi_cubin.cache.entry import Product
from tvmffi_cubin.cache.store import Cache, Miss, default
from tvmffi_cubin.errors import CacheError

OTHER = "cd" * 32
IS_ROOT = os.geteuid() == 0

needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can be another user")


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    for name in ("", "_PATH", "_SHARED"):
        monkeypatch.delenv(f"TVMFFI_CUBIN_CACHE{name}", raising=False)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    for folder in private._roots.values():
        shutil.rmtree(folder, ignore_errors=True)
    private._roots.clear()
    places._tell.cache_clear()


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    Cache(tmp_path / "layer").obtain(BASE, Builder(b"layer"))
    return tmp_path / "layer"


def files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


# Modes


def test_reading_only_finds_what_there_is_and_writes_nothing(root, monkeypatch, caplog):
    default().obtain(BASE, Builder())
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "read")
    before = files(root)
    assert default().obtain(BASE, Builder(b"not built")).level == "cache"
    builder = Builder(b"other")
    for _ in range(2):
        made = default().obtain(OTHER, builder)
        assert made.level == "private"
        assert made.so.read_bytes() == b"other"
    assert builder.runs == 1
    assert files(root) == before
    assert not caplog.records


def test_required_it_builds_nothing_and_says_why(root, monkeypatch):
    default().obtain(BASE, Builder())
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "require")
    assert default().obtain(BASE, Builder(b"not built")).level == "cache"
    builder = Builder()
    with pytest.raises(CacheError, match=r"ops is not in the cache, and .*=require forbids .*: "):
        default().obtain(OTHER, builder, name="ops")
    assert builder.runs == 0


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


@pytest.mark.parametrize(
    ("name", "value"), [("", "yes"), ("", "ON"), ("_SHARED", "true"), ("_SHARED", "2")]
)
def test_a_wrong_value_is_refused_by_name(root, monkeypatch, name, value):
    monkeypatch.setenv(f"TVMFFI_CUBIN_CACHE{name}", value)
    root.mkdir(mode=0o700)
    root.chmod(0o770)
    with pytest.raises(ValueError, match=rf"TVMFFI_CUBIN_CACHE{name}='{value}': wanted "):
        default()


@pytest.mark.parametrize("mode", ["read", "off"])
def test_without_any_folder_the_error_names_the_variable(monkeypatch, mode):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", mode)
    monkeypatch.setattr(private, "temporary_folder", full)
    with pytest.raises(CacheError, match=r"No space left.*TMPDIR"):
        default().obtain(BASE, Builder())


# The list of layers


def test_layers_are_looked_through_first(layer, root, monkeypatch, tmp_path):
    default().obtain(BASE, Builder(b"own"))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", f"{tmp_path}/layer")
    assert default().find(BASE).so.read_bytes() == b"layer"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", "~/layer")
    assert default().find(BASE).so.read_bytes() == b"layer"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", "layer")
    assert default().find(BASE).so.read_bytes() == b"layer"


@pytest.mark.parametrize("kind", ["missing", "file", "loop"])
def test_a_layer_that_is_none_is_passed_over_with_one_warning(
    layer, monkeypatch, tmp_path, caplog, kind
):
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    wrong = os.path.join(tmp_path, kind)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", f"{wrong}:{layer}")
    for _ in range(2):
        assert default().obtain(BASE, Builder(b"not built")).level == "layer"
        default().obtain(OTHER, Builder())
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "TVMFFI_CUBIN_CACHE_PATH" in record.getMessage()
    assert wrong in record.getMessage()


# Who may write


def modes(folder: Path) -> dict[str, str]:
    found = [folder, *folder.rglob("*")]
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in found}


@pytest.fixture(params=[0, 0o002, 0o077], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_the_folder_is_made_for_its_user_alone(tmp_path, monkeypatch):
    root = tmp_path / "new" / "cache"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(root))
    default().obtain(BASE, Builder())
    assert modes(root)["cache"] == modes(root.parent)["new"] == "0o700"
    assert look_up(default())


@pytest.mark.usefixtures("umask")
def test_opened_to_readers_it_is_written_by_nobody_else(root):
    def make(directory):
        (directory / "inner").mkdir()
        (directory / "inner" / "x.cc").write_text("")
        return Product(so=Builder()(directory).so, keep=("vec.cc", "inner/x.cc"))

    default().obtain(BASE, make)
    root.chmod(0o755)
    assert look_up(default())
    assert not [x for x in root.rglob("*") if x.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)]


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777, 0o2770])
def test_a_folder_that_others_may_write_is_refused_with_the_remedy(root, mode):
    default().obtain(BASE, Builder())
    root.chmod(mode)
    wanted = rf"its mode is {mode:04o}.*chmod -R go-w {root}"
    with pytest.raises(CacheError, match=wanted) as caught:
        default()
    assert "TVMFFI_CUBIN_CACHE_SHARED=1" in str(caught.value)
    root.chmod(mode & ~0o022)
    assert look_up(default())


@needs_root
def test_one_of_another_user_is_refused(root):
    default().obtain(BASE, Builder())
    os.chown(root, NOBODY, NOBODY)
    with pytest.raises(CacheError, match=rf"owned by user {NOBODY}.*chown -R {os.geteuid()} "):
        default()


@needs_root
def test_one_of_root_is_used_as_far_as_it_can_be_read(root, tmp_path, monkeypatch, caplog):
    made = default().obtain(BASE, Builder())
    let_others_reach(tmp_path)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    temporary.chmod(0o1777)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))

    def work():
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        levels = [default().find(BASE), default().obtain(OTHER, Builder())]
        return [getattr(found, "level", found) for found in levels], len(caplog.records)

    root.chmod(0o755)
    assert in_fork(work) == (["cache", "private"], 1)
    root.chmod(0o700)
    levels, count = in_fork(work)
    assert isinstance(levels[0], Miss)
    assert (levels[1], count) == ("private", 1)
    assert made.so.exists()


def test_a_layer_that_others_may_write_is_refused_and_one_of_another_user_is_not(
    layer, monkeypatch
):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", str(layer))
    if IS_ROOT:
        os.chown(layer, NOBODY, NOBODY)
    assert look_up(default()).level == "layer"
    layer.chmod(0o775)
    with pytest.raises(CacheError, match=rf"layer {layer} of .*0775.*chmod -R go-w {layer}"):
        default()
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SHARED", "1")
    assert look_up(default()).level == "layer"
    layer.chmod(0o777)
    with pytest.raises(CacheError, match="0777"):
        default()


def test_a_layer_that_is_mounted_read_only_may_have_any_mode(layer, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", str(layer))
    layer.chmod(0o777)

    class ReadOnly:
        f_flag = os.ST_RDONLY

    monkeypatch.setattr(os, "statvfs", lambda path: ReadOnly)
    assert look_up(default()).level == "layer"


@pytest.mark.parametrize("umask", [0o077, 0o022, 0], indirect=True)
@pytest.mark.usefixtures("umask")
def test_a_group_that_shares_it_may_write_all_of_it(root, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SHARED", "1")
    during = []

    def make(directory):
        during.append(modes(root))
        (directory / "inner").mkdir()
        (directory / "inner" / "x.cc").write_text("")
        product = Builder()(directory)
        return Product(so=product.so, keep=("vec.cc", "inner/x.cc"))

    default().obtain(BASE, make)
    assert look_up(default())
    for path in (root, *root.rglob("*")):
        wanted = 0o2770 if path.is_dir() else 0o660
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path
    held = {name: mode for name, mode in during[0].items() if name.endswith(".lock")}
    assert set(held.values()) == {"0o660"}
    assert len(held) == 1


@needs_root
def test_users_of_a_group_use_each_others_entries_and_build_their_own(root, tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SHARED", "1")
    group = 54321
    let_others_reach(tmp_path)

    def as_user(user, base_key, content):
        def work():
            os.setgroups([])
            os.setgid(group)
            os.setuid(user)
            made = default().obtain(base_key, Builder(content))
            return made.level, made.so.read_bytes()

        return in_fork(work)

    root.mkdir()
    os.chown(root, 1001, group)
    root.chmod(0o2770)
    assert as_user(1001, BASE, b"first") == ("cache", b"first")
    assert as_user(1002, BASE, b"not built") == ("cache", b"first")
    assert as_user(1002, OTHER, b"second") == ("cache", b"second")
    assert as_user(1001, OTHER, b"not built") == ("cache", b"second")
    damaged = next(root.glob("entries/*/*/vec.so"))
    damaged.write_bytes(b"x")
    assert as_user(1002, BASE, b"again")[0] == "cache"
    assert as_user(1001, OTHER, b"again")[0] == "cache"
