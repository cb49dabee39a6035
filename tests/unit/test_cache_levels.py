"""The cache: several folders that are looked through, why nothing was found, what is taken over."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from cache_builder import BASE, Builder, look_up, record_file

from tvmffi_cubin.cache.record import Reads, read_record
from tvmffi_cubin.cache.store import Cache, Miss

OTHER = "cd" * 32


@pytest.fixture
def header(tmp_path: Path) -> Path:
    path = tmp_path / "x.h"
    path.write_text("one")
    return path


@pytest.fixture
def layer(tmp_path: Path, header: Path) -> Path:
    made = Cache(tmp_path / "layer").obtain(BASE, Builder(b"layer", dependencies=(str(header),)))
    assert made.level == "cache"
    return tmp_path / "layer"


def with_layers(tmp_path: Path, *layers: Path) -> Cache:
    return Cache(tmp_path / "cache", layers=[str(path) for path in layers])


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Several folders


def test_what_a_layer_has_is_not_built(tmp_path, layer):
    found = with_layers(tmp_path, layer).obtain(BASE, Builder(b"not built"))
    assert found.so.read_bytes() == b"layer"
    assert found.level == "layer"
    assert found.path.is_relative_to(layer)
    assert found.key == found.path.name


def test_what_a_layer_lacks_is_built_into_the_cache(tmp_path, layer):
    before = files(layer)
    cache = with_layers(tmp_path, layer)
    made = cache.obtain(OTHER, Builder())
    assert made.level == "cache"
    assert look_up(Cache(cache.root), OTHER)
    assert files(layer) == before


def test_headers_that_lie_elsewhere_are_read_once(tmp_path, layer, header, monkeypatch):
    shutil.copy(header, tmp_path / "copy")
    os.replace(tmp_path / "copy", header)  # another inode, as in a container
    cache = with_layers(tmp_path, layer)
    monkeypatch.setattr("tvmffi_cubin.cache.files._SETTLED_NS", -(10**18))
    before = files(layer)
    assert look_up(cache).level == "layer"
    assert files(layer) == before
    assert not (cache.root / "entries").exists()
    monkeypatch.setattr("tvmffi_cubin.cache.record._digests", {})  # as in another process
    monkeypatch.setattr("tvmffi_cubin.cache.record.file_digest", lambda path: pytest.fail("hashed"))
    monkeypatch.setattr("tvmffi_cubin.cache.entry.file_digest", lambda path: pytest.fail("hashed"))
    assert look_up(with_layers(tmp_path, layer)).level == "layer"


# Why nothing was found


def test_a_miss_says_that_nothing_was_built(cache):
    assert cache.find(BASE) == Miss("nothing was built with these inputs")


def test_a_miss_names_the_files_that_changed(cache, tmp_path):
    names = [str(tmp_path / name) for name in ("a.h", "b.h", "c.h", "d.h")]
    for name in names[:3]:
        Path(name).write_text("one")
    cache.obtain(BASE, Builder(dependencies=tuple(names[:3]), absent=(names[3],)))
    Path(names[0]).unlink()
    Path(names[1]).write_text("two")
    Path(names[3]).touch()
    assert cache.find(BASE).reason == f"{names[0]} is gone"
    Path(names[0]).write_text("one")
    assert cache.find(BASE).reason == f"{names[1]} changed"
    Path(names[1]).write_text("one")
    assert cache.find(BASE).reason == f"{names[3]} is there now"


def test_a_miss_says_that_the_entry_is_gone_or_damaged(cache):
    made = cache.obtain(BASE, Builder(b"whole"))
    made.so.write_bytes(b"other")
    assert cache.find(BASE).reason == (
        "its entry is damaged: the content of vec.so is not what was published"
    )
    made.so.unlink()
    assert "vec.so is missing" in cache.find(BASE).reason
    shutil.rmtree(made.path)
    assert cache.find(BASE) == Miss("its entry was removed")


# Taking over


@pytest.fixture
def bundle(tmp_path: Path) -> tuple[Reads, Path]:
    cache = Cache(tmp_path / "elsewhere")
    made = cache.obtain(BASE, Builder(b"elsewhere"))
    (found,) = read_record(record_file(cache))
    return found, shutil.copytree(made.path, tmp_path / "packed")


def adopt(cache: Cache, made: Reads, folder: Path, base_key: str = BASE):
    with cache.private_directory() as directory:
        shutil.copytree(folder, directory, symlinks=True, dirs_exist_ok=True)
        return cache.adopt(base_key, made, directory)


def test_what_was_built_elsewhere_is_found_once_it_is_taken_over(cache, bundle):
    taken = adopt(cache, *bundle)
    assert taken.so.read_bytes() == b"elsewhere"
    assert look_up(Cache(cache.root)).path == taken.path
    assert list((cache.root / "tmp").iterdir()) == []


@pytest.mark.parametrize("harm", ["content", "longer", "missing", "more", "manifest", "link"])
def test_what_is_damaged_is_not_taken_over(cache, bundle, harm):
    made, folder = bundle
    if harm == "content":
        (folder / "vec.cc").write_text("SOURCE")
    elif harm == "longer":
        (folder / "vec.so").write_bytes(b"elsewhere and more")
    elif harm == "missing":
        (folder / "vec.cc").unlink()
    elif harm == "more":
        (folder / "more.so").write_text("x")
    elif harm == "manifest":
        (folder / "manifest.json").write_text("{}")
    else:
        (folder / "inner").symlink_to("/etc")
    with pytest.raises(ValueError, match=r"vec|more|manifest|inner"):
        adopt(cache, made, folder)
    assert look_up(cache) is None
    assert not (cache.root / "entries").exists()


def test_what_belongs_to_another_key_is_not_taken_over(cache, bundle):
    made, folder = bundle
    with pytest.raises(ValueError, match="another base key"):
        adopt(cache, made, folder, OTHER)
    with pytest.raises(ValueError, match="another entry's"):
        adopt(cache, made._replace(entry=OTHER), folder)
