"""``tvmffi-cubin cache export|import``: entries carried elsewhere, and what is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from cache_builder import Builder, base
from cache_command import run

from tvmffi_cubin.__main__ import main
from tvmffi_cubin.cache.store import Cache, Entry

FOLDER = "TVMFFI_CUBIN_CACHE_DIR"
KEY = "TVMFFI_CUBIN_CACHE_REMOTE_KEY"
SECRET = "a secret of more than 16 bytes"


@pytest.fixture(autouse=True)
def _folder(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(cache.root))
    for name in (KEY, f"{KEY}_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def archive(cache: Cache, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Two entries."""
    for number in (1, 2):
        build(cache, number)
    path = tmp_path / "entries.bin"
    run(capsys, "export", str(path))
    return path


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """An empty cache, from now on the user's."""
    other = Cache(tmp_path / "elsewhere")
    monkeypatch.setenv(FOLDER, str(other.root))
    return other


def build(cache: Cache, number: int) -> Path:
    builder = Builder(b"%d" % number * 1000, facts={"name": f"m{number}"})
    return cache.obtain(base(number), builder).path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["cache", *arguments]) == 1
    return "".join(capsys.readouterr())


def content(cache: Cache, number: int) -> bytes | None:
    found = cache.find(base(number))
    return found.so.read_bytes() if isinstance(found, Entry) else None


def published(cache: Cache) -> list[str]:
    return sorted(path.name for path in cache.root.glob("entries/*/*"))


def test_what_was_exported_is_found_where_it_is_imported(archive, elsewhere, capsys):
    for _ in range(2):
        text = run(capsys, "import", str(archive))
        assert text == f"{elsewhere.root}: 2 entries of {archive} taken\n"
    assert [content(elsewhere, number) for number in (1, 2)] == [b"1" * 1000, b"2" * 1000]
    assert list((elsewhere.root / "tmp").iterdir()) == []


@pytest.mark.parametrize("choice", ["name", "key"])
def test_one_may_be_chosen(cache, archive, capsys, elsewhere, monkeypatch, choice):
    monkeypatch.setenv(FOLDER, str(cache.root))
    value = "m2" if choice == "name" else cache.find(base(2)).key[:12]
    assert run(capsys, "export", str(archive), f"--{choice}", value) == f"{archive}: 1 entry\n"
    monkeypatch.setenv(FOLDER, str(elsewhere.root))
    run(capsys, "import", str(archive))
    assert [content(elsewhere, number) for number in (1, 2)] == [None, b"2" * 1000]
    assert "is called 'none'" in refused(capsys, "export", str(archive), "--name", "none")


def test_what_is_damaged_or_led_to_by_nothing_is_left_out_and_told(cache, capsys, tmp_path):
    paths = [build(cache, number) for number in (1, 2, 3)]
    (paths[0] / "vec.cc").write_text("other.")
    (cache.root / "records" / f"{base(2)}.json").unlink()
    for to in (("export", str(tmp_path / "a")), ("export", "--layer", str(tmp_path / "layer"))):
        text = run(capsys, *to)
        assert "was left out: the content of vec.cc is not what was published" in text
        assert "was left out: no record leads to it" in text
        assert text.endswith("1 entry, 2 left out\n")


def test_an_archive_or_a_layer_is_wanted(capsys):
    with pytest.raises(SystemExit):
        main(["cache", "export"])
    assert "one of the arguments FILE --layer is required" in capsys.readouterr().err


def test_with_a_key_it_is_signed_and_opens_with_that_key_alone(
    cache, archive, elsewhere, capsys, monkeypatch
):
    monkeypatch.setenv(KEY, SECRET)
    assert "it is unsigned" in refused(capsys, "import", str(archive))
    assert published(elsewhere) == []
    run(capsys, "import", str(archive), "--unsigned")
    monkeypatch.setenv(FOLDER, str(cache.root))
    run(capsys, "export", str(archive))
    monkeypatch.setenv(FOLDER, f"{elsewhere.root}2")
    run(capsys, "import", str(archive))
    for key in ("another secret of 16 bytes", ""):
        monkeypatch.setenv(KEY, key)
        said = refused(capsys, "import", str(archive))
        assert "signed with" in said


def test_whatever_byte_is_changed_nothing_else_than_was_built_comes_in(archive, elsewhere, capsys):
    data = archive.read_bytes()
    for at in range(0, len(data), 37):
        archive.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert main(["cache", "import", str(archive)]) == 1
        capsys.readouterr()
        assert content(elsewhere, 1) in (None, b"1" * 1000)
        assert content(elsewhere, 2) in (None, b"2" * 1000)


# Layers


def test_a_layer_has_entries_and_records_and_everybody_may_read_it(cache, capsys, tmp_path):
    layer = tmp_path / "image" / "layer"
    before = os.umask(0o077)
    try:
        for number in (1, 2):
            build(cache, number)
            run(capsys, "export", "--layer", str(layer), "--name", f"m{number}")
    finally:
        os.umask(before)
    assert sorted(path.name for path in layer.iterdir()) == ["entries", "records"]
    for path in [layer, *layer.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644)
    empty = Cache(tmp_path / "empty", layers=[str(layer)])
    assert [content(empty, number) for number in (1, 2)] == [b"1" * 1000, b"2" * 1000]
    assert empty.find(base(1)).level == "layer"
