"""``tvmffi-cubin cache``: what it prints and what it does, and the limit of the cache's size."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cache_builder import BASE, Builder, base, look_up, record_file
from cache_command import run

from tvmffi_cubin.__main__ import main
from tvmffi_cubin.cache.store import Cache
from tvmffi_cubin.cache.upkeep import read_size, size_text
from tvmffi_cubin.cli.cache import read_age

DAY = 86_400


@pytest.fixture(autouse=True)
def _folder(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(cache.root))
    monkeypatch.delenv("TVMFFI_CUBIN_CACHE_SIZE", raising=False)
    return


def build(cache: Cache, number: int, *, age: float = 0, size: int = 10) -> Path:
    """Build, as if it had been used for the last time some seconds ago."""
    facts = {"name": f"m{number}", "archs": ["sm_80", "sm_90a"]}
    path = cache.obtain(base(number), Builder(bytes(size), facts=facts)).path
    used = time.time() - age
    for changed in (path, record_file(cache, base(number))):
        os.utime(changed, (used, used))
    return path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["cache", *arguments]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tvmffi-cubin: error: ")
    return printed.err


# stats, list


def test_stats_say_how_much_there_is(cache, capsys, monkeypatch, tmp_path):
    for number in range(3):
        build(cache, number)
    layer = Cache(tmp_path / "layer")
    build(layer, 1)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "2GiB")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", str(layer.root))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_REMOTE", "s3://name:password@bucket/x")
    lines = run(capsys, "stats").splitlines()
    assert lines[0] == f"{cache.root}, on, remote s3://bucket/x"
    assert re.match(r"\d+\.\d kB, limit 2.1 GB$", lines[1])
    assert re.match(r"entry +3 +\d+\.\d kB$", lines[2])
    found = json.loads(run(capsys, "stats", "--json"))
    assert (found["limit"], found["kinds"]["entry"]["count"]) == (2 << 30, 3)
    assert found["kinds"][f"layer {layer.root}"]["count"] == 1


def test_of_a_folder_that_does_not_exist_all_are_none_and_none_is_made(cache, capsys):
    assert run(capsys, "path") == f"{cache.root}\n"
    assert "limit 5.0 GB" in run(capsys, "stats")
    assert run(capsys, "list") == ""
    assert json.loads(run(capsys, "list", "--json")) == []
    assert "0 entries and records compared, 0 B, all whole" in run(capsys, "verify")
    assert "0 entries removed, 0 B freed" in run(capsys, "prune")
    assert "0 entries removed, 0 B freed" in run(capsys, "clear")
    assert not cache.root.exists()


def test_list_has_a_line_for_each_entry_the_last_used_first(cache, capsys):
    paths = [build(cache, number, age=age) for number, age in enumerate((30 * DAY, 7200, 0))]
    head, *lines = [re.split(r"  +", line) for line in run(capsys, "list").splitlines()]
    assert head == ["NAME", "KIND", "SIZE", "ARCH", "BUILT", "USED", "KEY"]
    assert [line[:2] for line in lines] == [["m2", "module"], ["m1", "module"], ["m0", "module"]]
    assert [line[3] for line in lines] == ["sm_80,sm_90a"] * 3
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", line[5]) for line in lines)
    assert [line[6] for line in lines] == [path.name[:12] for path in reversed(paths)]
    assert json.loads(run(capsys, "list", "--json"))[0]["key"] == paths[2].name


def test_what_a_stranger_wrote_is_escaped_and_what_is_damaged_listed_as_that(cache, capsys):
    cache.obtain(base(1), Builder(facts={"name": "\x1b[2J\udcff", "archs": ["\x1b[2J"]}))
    path = build(cache, 2)
    (path / "manifest.json").write_text("{}")
    lines = run(capsys, "list").splitlines()[1:]
    assert sorted(line[:16].strip() for line in lines) == [r"'\x1b[2J\udcff'", "?"]
    assert "damaged" in "".join(lines)


# verify


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def test_verify_finds_a_changed_byte_in_any_file_and_repair_removes_it(cache, capsys):
    paths = [build(cache, number) for number in (1, 2)]
    assert re.search(r"4 entries and records compared, .*, all whole", run(capsys, "verify"))
    damage(paths[0] / "vec.cc")  # a source, which no look-up reads
    damage(Path(record_file(cache, base(2))))
    text = run(capsys, "verify", status=1)
    assert f"{paths[0]}: the content of vec.cc is not what was published\n" in text
    assert text.endswith("2 damaged\n")
    assert paths[0].exists()
    assert run(capsys, "verify", "--repair").count("; removed\n") == 2
    assert not paths[0].exists()
    assert "all whole" in run(capsys, "verify")
    for number in (1, 2):
        assert build(cache, number).exists()


# prune, clear, and the limit


def test_prune_removes_down_to_the_limit_of_the_cache(cache, capsys, monkeypatch):
    paths = [build(cache, n, age=DAY * (9 - n), size=100_000) for n in range(4)]
    assert "0 entries removed" in run(capsys, "prune")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "300kB")
    assert re.search(r"2 entries removed, 2\d\d\.\d kB freed$", run(capsys, "prune").rstrip())
    assert [path.exists() for path in paths] == [False, False, True, True]
    assert len(list((cache.root / "records").iterdir())) == 2
    assert "1 entry removed" in run(capsys, "prune", "--max-size", "200kB")
    assert [path.exists() for path in paths] == [False, False, False, True]


def test_it_removes_what_is_old_and_a_dry_run_only_says_so(cache, capsys):
    paths = [build(cache, n, age=DAY * (9 - n)) for n in range(4)]
    arguments = ("prune", "--older-than", "180h")
    *lines, last = run(capsys, *arguments, "--dry-run").splitlines()
    assert [line.split()[1] for line in lines] == [path.name[:12] for path in paths[:2]]
    assert re.search(r"2 would be removed, \d+\.\d kB freed$", last)
    assert all(path.exists() for path in paths)
    assert re.search(r"2 entries removed, .* freed$", run(capsys, *arguments).strip())
    assert [path.exists() for path in paths] == [False, False, True, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-size", "1e3"], "--max-size='1e3': wanted a number of bytes"),
        (["--max-size", "0"], "--max-size='0': wanted a number of bytes above 0"),
        (["--max-size", "many"], "--max-size='many': wanted a number of bytes"),
    ],
)
def test_wrong_values_are_refused_with_what_is_wanted(cache, capsys, arguments, message):
    path = build(cache, 1)
    assert message in refused(capsys, "prune", *arguments)
    assert path.exists()


def test_clear_removes_all_but_builds_that_run(cache, capsys):
    path = build(cache, 1)
    cache.obtain(BASE, Builder())

    def make(directory: Path):
        assert re.search(r"2 entries removed, .* freed$", run(capsys, "clear").strip())
        assert not path.exists()
        return Builder()(directory)

    assert cache.obtain(base(3), make).so.read_bytes() == b"so"
    assert "1 entry removed" in run(capsys, "clear")
    assert look_up(cache, base(1)) is None


def test_beyond_the_limit_what_was_used_least_recently_goes_with_its_record(
    cache, monkeypatch, caplog
):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "450kB")
    caplog.set_level("INFO", "tvmffi_cubin")
    paths = [build(cache, n, age=DAY * (9 - n), size=100_000) for n in range(3)]
    assert all(path.exists() for path in paths)
    assert look_up(cache, base(0))  # makes it young
    paths.append(build(cache, 3, size=100_000))
    assert [path.exists() for path in paths] == [True, False, True, True]
    assert look_up(cache, base(1)) is None
    assert not Path(record_file(cache, base(1))).exists()
    assert "1 entries that were not used for longest were removed" in caplog.text


def test_what_was_used_within_the_hour_is_spared(cache, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "150kB")
    paths = [build(cache, n, size=100_000) for n in range(3)]
    assert all(path.exists() for path in paths)


# Folders that are none, several at once, a terminal


@pytest.mark.parametrize("action", ["stats", "list", "verify", "prune", "clear"])
def test_a_folder_of_other_things_keeps_its_own(cache, capsys, action):
    kept = ["notes.txt", "entries/ab/mine/file", "records/requirements.json", "history/me"]
    for name in kept:
        path = cache.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    run(capsys, action)
    assert all((cache.root / name).read_text() == "x" for name in kept)


# Texts


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("500MB", 5 * 10**8), ("2GiB", 2 << 30), (" 1.5 kB ", 1500), ("1t", 10**12)],
)
def test_sizes_are_read(text, size):
    assert read_size(text, what="x") == size
    assert read_size("unlimited", what="x") is None


def test_ages_are_read_and_sizes_shown_in_units(capsys):
    assert [size_text(x) for x in (999, 1000, 5e9)] == ["999 B", "1.0 kB", "5.0 GB"]
    assert read_age("30d") == 30 * DAY
    with pytest.raises(SystemExit):
        main(["cache", "prune", "--older-than", "30"])
    assert "wanted a whole number with s, m (minutes), h, d or w" in capsys.readouterr().err
