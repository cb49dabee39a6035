"""``tvmffi-cubin cache``: what it prints and what it does, the size limit, and copies."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import time
from pathlib import Path

import pytest
from cache_builder import BASE, Builder, base, look_up, record_file

from tvmffi_cubin.__main__ import main
from tvmffi_cubin.cache import upkeep
from tvmffi_cubin.cache.files import read_sealed, write_sealed
from tvmffi_cubin.cache.store import Cache

DAY = 86_400
FOLDER = "TVMFFI_CUBIN_CACHE_DIR"


@pytest.fixture(autouse=True)
def _folder(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(cache.root))
    monkeypatch.delenv("TVMFFI_CUBIN_CACHE_SIZE", raising=False)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    """Runs a command that complains of nothing; returns what it prints."""

    def call(*arguments: str, status: int = 0) -> str:
        assert main(["cache", *arguments]) == status
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out

    return call


def build(cache: Cache, number: int, *, age: float = 0, size: int = 10) -> Path:
    """Build, as if it had been used for the last time some seconds ago."""
    facts = {"name": f"m{number}", "archs": ["sm_80", "sm_90a"]}
    path = cache.obtain(base(number), Builder(bytes(size), facts=facts)).path
    used = time.time() - age
    for changed in (path, record_file(cache, base(number))):
        os.utime(changed, (used, used))
    return path


def there(*paths: Path) -> list[bool]:
    return [path.exists() for path in paths]


# stats, list, verify


def test_stats_say_how_much_there_is(cache, run, monkeypatch, tmp_path):
    for number in range(3):
        build(cache, number)
    layer = Cache(tmp_path / "layer")
    build(layer, 1)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "2GiB")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", str(layer.root))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_REMOTE", "s3://name:password@bucket/x")
    lines = run("stats").splitlines()
    assert lines[0] == f"{cache.root}, on, remote s3://bucket/x"
    assert re.match(r"\d+\.\d kB, limit 2.1 GB$", lines[1])
    assert re.match(r"entry +3 +\d+\.\d kB$", lines[2])
    assert any(line.startswith(f"layer {layer.root} ") for line in lines)


def test_of_a_folder_that_does_not_exist_all_are_none_and_none_is_made(cache, run):
    assert run("path") == f"{cache.root}\n"
    assert "limit 5.0 GB" in run("stats")
    assert (run("list"), json.loads(run("list", "--json"))) == ("", [])
    assert "0 entries checked, 0 damaged" in run("verify")
    assert "0 entries removed, 0 B freed" in run("prune")
    assert "0 entries removed, 0 B freed" in run("clear")
    assert not cache.root.exists()


def test_list_has_a_line_for_each_entry_the_last_used_first(cache, run):
    paths = [build(cache, number, age=age) for number, age in enumerate((30 * DAY, 7200, 0))]
    head, *lines = [re.split(r"  +", line) for line in run("list").splitlines()]
    assert head == ["NAME", "FILE", "SIZE", "ARCH", "BUILT", "USED", "KEY"]
    assert [line[:2] for line in lines] == [["m2", "vec.so"], ["m1", "vec.so"], ["m0", "vec.so"]]
    assert {line[3] for line in lines} == {"sm_80,sm_90a"}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", line[5]) for line in lines)
    assert [line[6] for line in lines] == [path.name[:12] for path in reversed(paths)]
    assert json.loads(run("list", "--json"))[0]["key"] == paths[2].name


def test_verify_removes_what_has_a_changed_byte_in_any_file(cache, run):
    paths = [build(cache, number) for number in (1, 2)]
    assert "2 entries checked, 0 damaged" in run("verify")
    (paths[0] / "vec.cc").write_text("?")  # a source, which no look-up reads
    text = run("verify", status=1)
    assert f"{paths[0]} was removed: vec.cc does not match its checksum\n" in text
    assert text.endswith("2 entries checked, 1 damaged\n")
    assert there(*paths) == [False, True]
    assert "1 entry checked, 0 damaged" in run("verify")


# prune, clear, and the limit


def test_prune_removes_down_to_the_limit_of_the_cache(cache, run, monkeypatch):
    paths = [build(cache, n, age=DAY * (9 - n), size=100_000) for n in range(4)]
    assert "0 entries removed" in run("prune")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "300kB")
    assert re.search(r"2 entries removed, 2\d\d\.\d kB freed$", run("prune").rstrip())
    assert there(*paths) == [False, False, True, True]
    assert len(list((cache.root / "records").iterdir())) == 2
    assert "1 entry removed" in run("prune", "--max-size", "200kB")
    assert there(*paths) == [False, False, False, True]
    shutil.rmtree(paths[3])
    assert "0 entries removed" in run("prune")
    assert not list((cache.root / "records").iterdir())


def test_clear_removes_all_but_builds_that_run(cache, run):
    path = build(cache, 1)

    def make(directory: Path):
        assert re.search(r"1 entry removed, .* freed$", run("clear").strip())
        assert not path.exists()
        return Builder()(directory)

    assert cache.obtain(base(3), make).so.read_bytes() == b"so"
    assert "1 entry removed" in run("clear")
    assert look_up(cache, base(1)) is None


def test_beyond_the_limit_what_was_used_least_recently_goes_once_an_hour(cache, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "400kB")
    paths = [build(cache, n, age=DAY * (9 - n), size=100_000) for n in range(3)]
    assert look_up(cache, base(0))  # makes it young
    paths.append(build(cache, 3, size=100_000))
    assert there(*paths) == [True] * 4
    (cache.root / "looked").unlink()
    paths.append(build(cache, 4, size=100_000))
    assert there(*paths) == [True, False, False, True, True]
    assert not Path(record_file(cache, base(1))).exists()


@pytest.mark.parametrize("action", ["verify", "prune", "clear"])
def test_a_folder_of_other_things_keeps_its_own(cache, run, action):
    kept = ["notes.txt", "entries/ab/mine/file", "records/requirements.json", "history/me"]
    for name in kept:
        path = cache.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    run(action)
    assert all((cache.root / name).read_text() == "x" for name in kept)


# export, import


@pytest.fixture
def exported(cache: Cache, tmp_path: Path, run) -> Path:
    """A folder with two entries."""
    for number in (1, 2):
        build(cache, number, size=number * 1000)
    folder = tmp_path / "image" / "layer"
    run("export", str(folder))
    return folder


@pytest.fixture
def elsewhere(exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """An empty cache, from now on the user's."""
    other = Cache(tmp_path / "elsewhere")
    monkeypatch.setenv(FOLDER, str(other.root))
    return other


def sizes(cache: Cache) -> list[int | None]:
    found = [look_up(cache, base(number)) for number in (1, 2)]
    return [None if entry is None else len(entry.so.read_bytes()) for entry in found]


def test_what_was_exported_is_found_where_it_is_imported(exported, elsewhere, run):
    for path in exported.rglob("entries/*/*"):
        path.chmod(0o555)
    for said in [run("import", str(exported)) for _ in range(2)]:
        assert said == f"{elsewhere.root}: 2 entries imported from {exported}\n"
    assert sizes(elsewhere) == [1000, 2000]
    assert list((elsewhere.root / "tmp").iterdir()) == []
    modes = {stat.S_IMODE(x.stat().st_mode) for x in elsewhere.root.rglob("entries/*/*")}
    assert modes == {0o700}  # else who is not root cannot move it


def test_one_may_be_chosen(cache, run, capsys, tmp_path, exported):
    layer = tmp_path / "one"
    assert run("export", str(layer), "--name", "m2") == f"{layer}: 1 entry\n"
    assert sizes(Cache(layer)) == [None, 2000]
    assert main(["cache", "export", str(layer), "--name", "none"]) == 1
    assert "'none'; see tvmffi-cubin cache list" in capsys.readouterr().err
    assert main(["cache", "import", "/nowhere"]) == 1
    assert "/nowhere is not a folder written" in capsys.readouterr().err


def test_whatever_byte_is_changed_nothing_else_than_was_built_comes_in(exported, elsewhere):
    for path in list(exported.rglob("entries/*/*/*")):
        data = path.read_bytes()
        for at in range(0, len(data), 97):
            path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            assert main(["cache", "import", str(exported)]) == 1
            assert set(sizes(elsewhere)) <= {None, 1000, 2000}
        path.write_bytes(data)


def test_an_entry_that_is_not_of_its_key_is_refused(exported, elsewhere, run):
    """A whole entry under the key of another would be found in its place."""
    (path,) = (x.path for x in upkeep.listed(str(exported), ["m1"]))
    manifest = {**read_sealed(f"{path}/manifest.json"), "base_key": BASE}
    write_sealed(f"{path}/manifest.json", manifest)
    said = run("import", str(exported), status=1)
    assert "was rejected: its key does not match its files" in said
    assert sizes(elsewhere) == [None, 2000]


def test_a_layer_has_entries_and_records_and_everybody_may_read_it(cache, run, tmp_path):
    layer = tmp_path / "image" / "layer"
    before = os.umask(0o077)
    try:
        for number in (1, 2):
            build(cache, number, size=number * 1000)
            run("export", str(layer), "--name", f"m{number}")
    finally:
        os.umask(before)
    assert sorted(path.name for path in layer.iterdir()) == ["entries", "records"]
    for path in [layer, *layer.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644)
    empty = Cache(tmp_path / "empty", layers=[str(layer)])
    assert sizes(empty) == [1000, 2000]
    assert empty.find(base(1)).level == "layer"


def test_files_of_others_in_the_folder_stay(cache, run, tmp_path):
    build(cache, 1)
    notes = tmp_path / "project" / "tmp" / "notes"
    notes.parent.mkdir(parents=True)
    notes.write_text("")
    run("export", str(tmp_path / "project"))
    assert notes.exists()
