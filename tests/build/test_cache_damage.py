"""Damage to what the cache has: never a crash, never a wrong result, and one warning."""

import _ctypes
import ctypes
import logging
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import in_fork

from tvmffi_cubin.cache import files, publish
from tvmffi_cubin.cache.entry import Product
from tvmffi_cubin.cache.store import Cache

BASE = "ab" * 32
NOTED = "name", publish.Built(BASE, "purpose", {"arch": ["digest", "sm_90"]})
PAGE = 4096


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("library")
    (folder / "a.c").write_text("int table[2] = {40, 2};\nint answer(void) {return *table + 2;}")
    flags = ["-shared", "-fPIC", "-s", "-nostdlib", "-Wl,--build-id=none"]
    subprocess.run(["cc", *flags, "-o", "a.so", "a.c"], cwd=folder, check=True)
    return (folder / "a.so").read_bytes()


class Place:
    """A cache folder with one entry and one memo, put back as it was before each harm."""

    def __init__(self, folder: Path, library: bytes) -> None:
        self.library = library
        self.builds = 0
        self.cache = Cache(folder / "cache")
        self.header = folder / "x.h"
        self.header.write_text("one")
        os.environ["TVMFFI_CUBIN_CACHE_DIR"] = str(self.cache.root)
        assert self.answer() == ("identity", 42)
        self.files = {x: x.read_bytes() for x in self.cache.root.rglob("*") if x.is_file()}

    def make(self, folder: Path) -> Product:
        self.builds += 1
        (folder / "a.so").write_bytes(self.library)
        # Read by users of the entry, as precompiled headers and the images of lazy modules are.
        (folder / "k.image").write_bytes(self.library)
        made = Product("a.so", keep=("k.image",), used=("k.image",), history=NOTED)
        return made._replace(dependencies=(str(self.header),), facts={"answer": 42})

    def answer(self) -> tuple[str, int]:
        files._answers.clear()
        text = files.remember("who", lambda: ("identity", ["/etc/passwd"]))
        entry = self.cache.obtain(BASE, self.make)
        assert entry.facts == {"answer": 42}
        assert entry.manifest["base_key"] == BASE
        assert (entry.path / "k.image").read_bytes() == self.library
        assert publish.known([str(self.cache.root)], NOTED[0]) in ([NOTED[1]], [])
        loaded = ctypes.CDLL(os.fspath(entry.so))
        result = loaded.answer()
        # To write into what is mapped would crash this process, whatever the cache does.
        _ctypes.dlclose(loaded._handle)
        return text, result

    def restore(self) -> None:
        shutil.rmtree(self.cache.root)
        for path, content in self.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.builds = 0

    def named(self, pattern: str) -> Path:
        return next(path for path in self.files if path.match(pattern))


def cut(data: bytes) -> Iterator[bytes]:
    """Return a file's content cut off at every kind of length, and made longer."""
    lengths = {1, 64, PAGE, *(len(data) * part // 16 for part in range(16))}
    lengths |= {len(data) - part for part in (1, 2, 64, 66, 67, 75)}
    for length in sorted(lengths):
        if 0 <= length < len(data):
            yield data[:length]
    for more in (b"\0", b"}", data, bytes(PAGE)):
        yield data + more


def flipped(data: bytes, step: int) -> Iterator[bytes]:
    for index in range(0, len(data), step):
        for flip in (0x01, 0xFF):
            yield data[:index] + bytes([data[index] ^ flip]) + data[index + 1 :]


# How many bytes apart: that each byte of what is sealed counts is a test of its own.
FILES = {"a.so": 512, "k.image": 2048, "manifest.json": 19}
FILES |= {"records/*.json": 17, "history/*.json": 17, "identity/*.json": 5}


@pytest.mark.parametrize("pattern", FILES)
def test_no_damaged_byte_gives_another_result(tmp_path, library, monkeypatch, pattern):
    reached = tmp_path / "reached"

    def work() -> int:
        logging.disable()
        place = Place(tmp_path, library)
        path = place.named(pattern)
        data = place.files[path]
        damages = [*flipped(data, FILES[pattern]), *cut(data)]
        for damaged in damages:
            place.restore()
            path.write_bytes(damaged)
            reached.write_bytes(damaged)
            assert place.answer() == ("identity", 42)
            assert (place.builds == 1) == (path.parent.name not in ("identity", "history"))
        return len(damages)

    # A crash ends the child, and what did it is in the file.
    result = in_fork(work)
    assert isinstance(result, int), f"{result!r}; see {reached}"
    assert result > 40


def test_in_a_layer_it_is_passed_over_with_one_warning(tmp_path, library, monkeypatch, caplog):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    place = Place(tmp_path, library)
    place.named("a.so").write_bytes(bytes(len(library)))
    before = {x: x.read_bytes() for x in place.cache.root.rglob("*") if x.is_file()}
    cache = Cache(tmp_path / "own", layers=[str(place.cache.root)])
    for _ in range(2):
        assert isinstance(cache.find(BASE), str)
    assert cache.obtain(BASE, place.make).level == "cache"
    assert cache.obtain(BASE, place.make).level == "cache"
    assert {x: x.read_bytes() for x in place.cache.root.rglob("*") if x.is_file()} == before
    (record,) = caplog.records
    assert str(place.cache.root) in record.getMessage()
