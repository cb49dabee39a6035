"""``tvmffi-cubin cache``: what it prints and what it does, on folders of all kinds."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cache_builder import Builder, base
from cache_command import run
from processes import in_fork

from tvmffi_cubin import uses
from tvmffi_cubin.__main__ import main
from tvmffi_cubin.cache import Cache, Entry
from tvmffi_cubin.errors import BuildError
from tvmffi_cubin.sealed import read_sealed, write_sealed
from tvmffi_cubin.verification import Damaged

DAY = 86_400
IMAGES = {"kernels": {"arch": "sm_80, sm_90a"}, "more": {"arch": "sm_90a"}}


@pytest.fixture(autouse=True)
def _folder(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(cache.root))
    monkeypatch.delenv("TVMFFI_CUBIN_CACHE_SIZE", raising=False)
    yield
    uses.leave()


def build(cache: Cache, number: int, *, age: float = 0, size: int = 10) -> Path:
    """Build in a process that has ended since."""

    def work() -> Path:
        builder = Builder(bytes(size), facts={"name": f"m{number}", "images": IMAGES})
        return cache.obtain(base(number), builder).path

    path: Path = in_fork(work)
    used = time.time() - age
    os.utime(path, (used, used))
    return path


def values(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> dict:
    return json.loads(run(capsys, *arguments, "--json", status=status))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["cache", *arguments]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tvmffi-cubin: error: ")
    return printed.err


# stats


def test_stats_say_how_much_there_is_and_how_old(cache, capsys, monkeypatch):
    for number, age in enumerate((0, 7200, 3 * DAY, 30 * DAY)):
        build(cache, number, age=age)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "2GiB")
    text = run(capsys, "stats")
    lines = dict(re.split(r"  +", line, maxsplit=1) for line in text.splitlines())
    assert lines["folder"] == str(cache.root)
    assert re.match(r"\d+\.\d kB, limit 2.1 GB$", lines["holds"])
    assert re.match(r"4 +\d+\.\d kB$", lines["entries"])
    assert lines["longest not used"] == "30 d"
    for when in ("in the last hour", "in the last day", "in the last week", "before that"):
        assert lines[f"used {when}"] == "1"
    found = values(capsys, "stats")
    assert found["limit"] == 2 << 30
    assert found["kinds"]["entries"]["count"] == 4
    assert found["size"] == sum(kind["size"] for kind in found["kinds"].values())
    assert found["last_used"] == dict.fromkeys(found["last_used"], 1)


def test_stats_know_what_is_in_use(cache, capsys):
    path = build(cache, 1)
    build(cache, 2)
    uses.note(str(cache.root), path.name)
    assert values(capsys, "stats")["in_use"] == 1


def test_stats_name_layers_mode_and_remote(cache, capsys, monkeypatch, tmp_path):
    layer = Cache(tmp_path / "layer")
    build(layer, 1)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", str(layer.root))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "read")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_REMOTE", "s3://name:password@bucket/x")
    lines = run(capsys, "stats").splitlines()
    assert re.search(rf"^layer +1 +\d+\.\d kB  {layer.root}$", "\n".join(lines), re.MULTILINE)
    assert "mode                   read" in lines
    assert "remote                 s3://bucket/x" in lines
    found = values(capsys, "stats")
    assert (found["layers"][str(layer.root)]["count"], found["mode"]) == (1, "read")


def test_of_a_folder_that_does_not_exist_all_are_none_and_none_is_made(cache, capsys):
    assert "limit 5.0 GB" in run(capsys, "stats")
    assert run(capsys, "list") == ""
    assert values(capsys, "list") == {"folder": str(cache.root), "entries": []}
    assert "0 entries and records compared, 0 B, all whole" in run(capsys, "verify")
    assert "0 entries removed, 0 B freed" in run(capsys, "prune")
    assert "0 entries removed, 0 B freed" in run(capsys, "clear")
    assert not cache.root.exists()


# list


def test_list_has_a_line_for_each_entry_the_last_used_first(cache, capsys):
    paths = [build(cache, number, age=age) for number, age in enumerate((30 * DAY, 7200, 0))]
    uses.note(str(cache.root), paths[2].name)
    head, *lines = [re.split(r"  +", line) for line in run(capsys, "list").splitlines()]
    assert head == ["NAME", "KIND", "SIZE", "ARCH", "BUILT", "USED", "KEY"]
    assert [line[0] for line in lines] == ["m2", "m1", "m0"]
    assert [line[1] for line in lines] == ["module"] * 3
    assert [line[3] for line in lines] == ["sm_80,sm_90a"] * 3
    assert [line[5] for line in lines] == ["now", "2 h", "30 d"]
    assert [line[6] for line in lines] == [path.name[:12] for path in reversed(paths)]


def test_as_json_it_has_all_that_is_known(cache, capsys):
    path = build(cache, 1)
    (row,) = values(capsys, "list")["entries"]
    assert row.pop("size") > 10
    assert abs(row.pop("built") - time.time()) < 60
    assert abs(row.pop("used") - time.time()) < 60
    assert row == {
        "key": path.name,
        "kind": "module",
        "name": "m1",
        "archs": ["sm_80", "sm_90a"],
        "in_use": False,
        "base_key": base(1),
    }


def test_a_name_that_a_terminal_obeys_is_escaped(cache, capsys):
    in_fork(lambda: cache.obtain(base(1), Builder(facts={"name": "\x1b[2J\udcff"})).level)
    assert run(capsys, "list").splitlines()[1].startswith(r"'\x1b[2J\udcff'  module")


def test_what_nvcc_compiled_is_listed_with_its_architectures(cache, capsys):
    facts = {"name": "m", "images": {"k": {"arch": "sm_90"}}, "archs": ["sm_90", "compute_90"]}
    in_fork(lambda: cache.obtain(base(1), Builder(facts=facts)).level)
    (row,) = values(capsys, "list")["entries"]
    assert row["archs"] == ["compute_90", "sm_90"]


def test_an_architecture_that_a_terminal_obeys_is_escaped(cache, capsys):
    facts = {"name": "m", "images": {"k": {"arch": "\x1b[2J"}}}
    in_fork(lambda: cache.obtain(base(1), Builder(facts=facts)).level)
    assert r"'\x1b[2J'" in run(capsys, "list")


@pytest.mark.parametrize(
    ("images", "created"),
    [({"k": 3}, float("nan")), ({"k": []}, 1e308), ([], -1), (None, 10**400), ("k", "x")],
    ids=["no facts", "no mapping", "no images", "nothing", "a text"],
)
def test_what_a_stranger_has_written_down_is_listed_all_the_same(cache, capsys, images, created):
    facts = {"name": "m", "images": images}
    in_fork(lambda: cache.obtain(base(1), Builder(facts=facts)).level)
    (path,) = cache.root.glob("entries/*/*")
    manifest, name = str(path / "manifest.json"), f"entries/{path.name}"
    write_sealed(manifest, name, read_sealed(manifest, name) | {"created": created})
    (row,) = values(capsys, "list")["entries"]
    assert (row["name"], row["archs"]) == ("m", [])
    assert re.fullmatch(
        r"m +module +[\d.]+ kB +\d s +\d s +\w{12}", run(capsys, "list").splitlines()[1]
    )


def test_what_is_damaged_is_listed_as_that(cache, capsys):
    path = build(cache, 1)
    (path / "manifest.json").write_text("{}")
    assert re.match(r"\?  +damaged  ", run(capsys, "list").splitlines()[1])


# verify


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def test_verify_finds_a_changed_byte_in_any_file_and_fails(cache, capsys):
    path = build(cache, 1)
    assert re.search(r"2 entries and records compared, .*, all whole", run(capsys, "verify"))
    damage(path / "vec.cc")  # a source, which no look-up reads
    text = run(capsys, "verify", status=1)
    assert f"{path}: the content of vec.cc is not what was published\n" in text
    assert text.endswith("1 damaged\n")
    assert path.exists()
    (found,) = values(capsys, "verify", status=1)["damaged"]
    assert (found["path"], found["is_repaired"]) == (str(path), False)


def test_repair_sets_aside_what_is_damaged_and_it_is_built_again(cache, capsys, caplog):
    paths = [build(cache, number) for number in (1, 2)]
    damage(paths[0] / "vec.cc")
    record = cache.root / "deps" / f"{base(2)}.json"
    damage(record)
    text = run(capsys, "verify", "--repair")
    assert text.count("; repaired\n") == 2
    assert not paths[0].exists()
    assert not record.exists()
    assert len(list((cache.root / "damaged").iterdir())) == 1
    assert "all whole" in run(capsys, "verify")
    for number in (1, 2):
        assert build(cache, number).exists()


def test_what_is_removed_while_it_is_read_is_not_damaged(cache, capsys, monkeypatch):
    path = build(cache, 1)

    def remove(folder, *_):
        os.rename(folder, cache.root / "gone")
        raise Damaged("vec.so is missing")

    monkeypatch.setattr("tvmffi_cubin.entry.check_files", remove)
    assert "all whole" in run(capsys, "verify", "--repair")
    assert not path.exists()
    assert not (cache.root / "damaged").exists()


def test_what_cannot_be_read_is_told(cache, capsys, monkeypatch):
    path = build(cache, 1)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "x")

    monkeypatch.setattr("tvmffi_cubin.cache_verify.check_entry", refuse)
    text = run(capsys, "verify", status=1)
    assert f"{path}: it cannot be read: Permission denied\n" in text


# prune


def test_prune_removes_down_to_the_limit_of_the_cache(cache, capsys, monkeypatch):
    paths = [build(cache, n, age=DAY * (9 - n), size=100_000) for n in range(4)]
    assert "0 entries removed" in run(capsys, "prune")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "300kB")
    assert re.search(r"2 entries removed, 2\d\d\.\d kB freed$", run(capsys, "prune").rstrip())
    assert [path.exists() for path in paths] == [False, False, True, True]
    assert len(list((cache.root / "deps").iterdir())) == 2
    assert values(capsys, "stats")["size"] <= 300_000


def test_it_removes_down_to_a_size_that_is_given(cache, capsys):
    paths = [build(cache, n, age=DAY * (9 - n), size=100_000) for n in range(4)]
    assert values(capsys, "prune", "--max-size", "200kB")["removed"] == 3
    assert [path.exists() for path in paths] == [False, False, False, True]


def test_it_removes_what_is_old_and_keeps_what_lives(cache, capsys):
    paths = [build(cache, n, age=DAY * (9 - n)) for n in range(4)]
    uses.note(str(cache.root), paths[0].name)
    text = run(capsys, "prune", "--older-than", "180h")
    assert re.search(r"1 entry removed, .* freed; 1 that living processes use stay$", text.strip())
    assert [path.exists() for path in paths] == [True, False, True, True]


def test_a_dry_run_says_the_same_and_removes_nothing(cache, capsys):
    paths = [build(cache, n, age=DAY * (9 - n)) for n in range(4)]
    arguments = ("prune", "--older-than", "180h", "--dry-run")
    *lines, last = run(capsys, *arguments).splitlines()
    assert [line.split()[1] for line in lines] == [path.name[:12] for path in paths[:2]]
    assert re.search(r"2 would be removed, \d+\.\d kB freed$", last)
    assert [item["path"] for item in values(capsys, *arguments)["would_remove"]] == [
        str(path) for path in paths[:2]
    ]
    assert all(path.exists() for path in paths)


def test_records_that_lead_nowhere_go_too(cache, capsys):
    path = build(cache, 1)
    build(cache, 2)
    record = cache.root / "deps" / f"{base(1)}.json"
    os.utime(record, (0, 0))
    subprocess.run(["rm", "-r", str(path)], check=True)
    run(capsys, "prune")
    assert not record.exists()
    assert (cache.root / "deps" / f"{base(2)}.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-size", "0"], "--max-size='0': wanted a number of bytes above 0"),
        (["--max-size", "many"], "--max-size='many': wanted a number of bytes"),
        (["--older-than", "30"], "--older-than '30': wanted a whole number with s, m"),
    ],
)
def test_wrong_values_are_refused_with_what_is_wanted(cache, capsys, arguments, message):
    path = build(cache, 1)
    assert message in refused(capsys, "prune", *arguments)
    assert path.exists()


def test_a_wrong_limit_is_refused_too(cache, capsys, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "much")
    for action in ("stats", "prune"):
        assert "TVMFFI_CUBIN_CACHE_SIZE='much'" in refused(capsys, action)


@pytest.mark.parametrize(
    "arguments", [[], ["purge"], ["prune", "--all"], ["stats", "extra"], ["prune", "--max-size"]]
)
def test_other_words_show_the_usage(capsys, arguments):
    with pytest.raises(SystemExit) as exit_:
        main(["cache", *arguments])
    assert exit_.value.code == 2
    assert "usage: tvmffi-cubin" in capsys.readouterr().err


# clear


def test_clear_keeps_what_living_processes_use_and_build(cache, capsys):
    paths = [build(cache, number) for number in (1, 2)]

    def make(directory: Path):
        uses.note(str(cache.root), paths[0].name)
        text = run(capsys, "clear")
        assert re.search(r"1 entry removed, .*; 1 that living processes use stay$", text.strip())
        assert [path.exists() for path in paths] == [True, False]
        return Builder()(directory)

    assert cache.obtain(base(3), make).so.read_bytes() == b"so"
    assert isinstance(Cache(cache.root).find(base(1)), Entry)


def test_as_json_it_has_the_numbers(cache, capsys):
    build(cache, 1)
    found = values(capsys, "clear")
    assert (found["removed"], found["kept"]) == (1, 0)
    assert found["size"] > 0


# Folders that are none


@pytest.mark.parametrize("action", ["stats", "list", "verify", "prune", "clear"])
def test_a_file_in_the_folders_place_is_an_error(cache, capsys, action):
    cache.root.write_text("x")
    assert f"{cache.root}: " in refused(capsys, action) or action in ("prune", "clear")


@pytest.mark.parametrize("action", ["prune", "clear"])
@pytest.mark.parametrize("target", ["a file", "itself", "nothing"])
def test_what_stands_in_a_folder_s_place_is_named_with_the_remedy(cache, capsys, action, target):
    build(cache, 1)
    place = cache.root / "tmp"
    place.rmdir()
    if target == "a file":
        place.write_text("x")
    else:
        place.symlink_to(place if target == "itself" else cache.root / "nothing")
    options = ["--max-size", "1"] if action == "prune" else []
    said = refused(capsys, action, *options)
    assert f"{place}'; remove what is there in the place of a folder, or set TVMFFI_" in said


@pytest.mark.parametrize("action", ["stats", "list", "verify", "prune", "clear"])
def test_a_folder_of_other_things_has_none_of_the_caches_and_keeps_its_own(cache, capsys, action):
    kept = ["notes.txt", "entries/ab/mine/file", "deps/requirements.json", "uses/me", "fields/x/y"]
    for name in kept:
        path = cache.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    run(capsys, action)
    assert all((cache.root / name).read_text() == "x" for name in kept)


@pytest.mark.parametrize("action", ["stats", "list", "verify", "prune", "clear"])
def test_one_that_cannot_be_read_is_an_error_that_names_it(cache, capsys, monkeypatch, action):
    build(cache, 1)
    scan = os.scandir

    def refuse(path: str):
        if str(path).endswith("entries"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert f"{cache.root}" in (said := refused(capsys, action))
    assert "Permission denied" in said


# Several at once


def test_commands_may_run_at_once_and_while_others_build(cache):
    stop = threading.Event()

    def keep_building() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            content = b"%d" % (number % 5)
            made = Cache(cache.root).obtain(base(number % 5), Builder(content))
            uses.leave()
            assert made.key

    def commands(*arguments: str) -> None:
        for _ in range(15):
            statuses.append(main(["cache", *arguments]))

    statuses: list[int] = []
    builder = os.fork()
    if builder == 0:
        # Only where it hangs: a busy machine takes its time.
        threading.Timer(300, os._exit, [1]).start()
        try:
            thread = threading.Thread(target=keep_building)
            thread.start()
            for action in (["clear"], ["prune", "--max-size", "1"], ["verify"], ["list"]):
                commands(*action)
            stop.set()
            thread.join()
        finally:
            os._exit(0 if set(statuses) == {0} and len(statuses) == 60 else 1)
    for _ in range(15):
        for action in (["clear"], ["stats"], ["prune", "--older-than", "0s"]):
            assert main(["cache", *action]) == 0
    assert os.waitpid(builder, 0)[1] == 0


def test_a_failed_build_is_cleared_and_an_old_one_pruned(cache, capsys):
    def fail(directory: Path):
        raise BuildError("no", directory=str(directory))

    for action in (["prune", "--older-than", "1d"], ["clear"]):
        with pytest.raises(BuildError):
            cache.obtain(base(1), fail)
        (left,) = (cache.root / "tmp").iterdir()
        os.utime(left, (0, 0))
        run(capsys, *action)
        assert not left.exists()


# A terminal


def on_terminal(*arguments: str, is_all: bool = False, status: int = 0) -> tuple[str, str]:
    """Run a command whose stderr, or all, is a terminal; return what it prints, and shows there."""
    ours, theirs = pty.openpty()
    # On one without rows nothing is shown.
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-m", "tvmffi_cubin", "cache", *arguments]
    out = theirs if is_all else subprocess.PIPE
    done = subprocess.run(command, stdout=out, stderr=theirs, text=True, check=False)
    os.close(theirs)
    assert done.returncode == status
    shown = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(ours)
    return done.stdout, shown.decode()


def test_a_terminal_shows_how_far_it_is_and_a_pipe_does_not(cache):
    build(cache, 1, size=100_000)
    printed, shown = on_terminal("verify")
    assert "comparing:" in shown
    assert "all whole" in printed
    command = [sys.executable, "-m", "tvmffi_cubin", "cache", "verify"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (printed, "")


def test_what_is_damaged_stands_on_a_line_of_its_own_on_a_terminal(cache):
    path = build(cache, 1)
    (path / "vec.so").write_bytes(b"")
    _, shown = on_terminal("verify", status=1, is_all=True)
    assert "comparing:" in shown
    # As a terminal shows it: what follows a carriage return overwrites the line.
    lines = [line.rpartition("\r")[2] for line in shown.replace("\r\n", "\n").split("\n")]
    assert f"{path}: vec.so has 0 bytes, not 10" in lines
