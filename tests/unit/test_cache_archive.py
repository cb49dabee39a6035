"""``tvmffi-cubin cache export|import``: entries carried elsewhere, and what is refused."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cache_builder import Builder, base
from cache_command import run
from processes import in_fork

from tvmffi_cubin import uses
from tvmffi_cubin.__main__ import main
from tvmffi_cubin.cache import Cache, Entry

FOLDER = "TVMFFI_CUBIN_CACHE_DIR"
KEY = "TVMFFI_CUBIN_CACHE_REMOTE_KEY"
SECRET = "a secret of more than 16 bytes"


@pytest.fixture(autouse=True)
def _folder(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(FOLDER, str(cache.root))
    for name in (KEY, f"{KEY}_FILE"):
        monkeypatch.delenv(name, raising=False)
    yield
    uses.leave()


@pytest.fixture
def archive(cache: Cache, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Two entries."""
    for number in (1, 2):
        build(cache, number)
    path = tmp_path / "entries.tar"
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
    path: Path = in_fork(lambda: cache.obtain(base(number), builder).path)
    return path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["cache", *arguments]) == 1
    return capsys.readouterr().err


def content(cache: Cache, number: int) -> bytes | None:
    found = cache.find(base(number))
    return found.so.read_bytes() if isinstance(found, Entry) else None


def published(cache: Cache) -> list[str]:
    return sorted(path.name for path in cache.root.glob("entries/*/*"))


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as file:
        return {member.name: file.extractfile(member).read() for member in file}


def write(path: Path, parts: dict[str, bytes], *others: tarfile.TarInfo) -> None:
    with tarfile.open(path, "w") as file:
        for member in others:
            file.addfile(member)
        for name, data in parts.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            file.addfile(member, io.BytesIO(data))


# There and back


def test_what_was_exported_is_found_where_it_is_imported(archive, elsewhere, capsys):
    text = run(capsys, "import", str(archive))
    assert text.startswith(f"{elsewhere.root}: 2 entries of {archive} (")
    assert text.endswith(" taken\n")
    assert [content(elsewhere, number) for number in (1, 2)] == [b"1" * 1000, b"2" * 1000]
    builder = Builder()
    elsewhere.obtain(base(1), builder)
    assert builder.runs == 0
    assert list((elsewhere.root / "tmp").iterdir()) == []


def test_what_is_imported_counts_for_the_limit(archive, elsewhere, capsys, monkeypatch):
    old = build(elsewhere, 3)
    os.utime(old, (0, 0))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "40kB")
    run(capsys, "import", str(archive))
    assert not old.exists()
    assert len(published(elsewhere)) == 2


def test_the_same_entries_give_the_same_archive(archive, capsys, tmp_path):
    again = tmp_path / "again.tar"
    assert run(capsys, "export", str(again)) == f"{again}: 2 entries\n"
    assert again.read_bytes() == archive.read_bytes()
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_what_is_there_already_stays(archive, elsewhere, capsys):
    run(capsys, "import", str(archive))
    before = {path: path.stat().st_ino for path in elsewhere.root.glob("entries/*/*/*")}
    run(capsys, "import", str(archive))
    assert {path: path.stat().st_ino for path in elsewhere.root.glob("entries/*/*/*")} == before


@pytest.mark.parametrize("choice", ["name", "key"])
def test_one_may_be_chosen(cache, archive, capsys, elsewhere, monkeypatch, choice):
    monkeypatch.setenv(FOLDER, str(cache.root))
    key = Cache(cache.root).find(base(2)).key
    value = {"name": "m2", "key": key[:10]}[choice]
    assert "1 entry\n" in run(capsys, "export", str(archive), f"--{choice}", value)
    monkeypatch.setenv(FOLDER, str(elsewhere.root))
    run(capsys, "import", str(archive))
    assert published(elsewhere) == [key]


def test_what_is_damaged_or_led_to_by_nothing_is_left_out_and_told(cache, capsys, tmp_path):
    paths = [build(cache, number) for number in (1, 2, 3)]
    (paths[0] / "vec.cc").write_text("other.")
    (cache.root / "deps" / f"{base(2)}.json").unlink()
    text = run(capsys, "export", str(tmp_path / "a.tar"))
    assert f"m1 {paths[0].name[:12]} was left out: the content of vec.cc is not what" in text
    assert f"m2 {paths[1].name[:12]} was left out: no record leads to it" in text
    assert text.endswith("a.tar: 1 entry, 2 left out\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.tar", "--name", "none"], "no entry of .* is called 'none'; see tvmffi-cubin cache li"),
        (["a.tar", "--key", "zz"], "no entry of .* has the key 'zz'"),
        (["a.tar", "--key", ""], "no entry of .* has the key ''"),
        (["none/a.tar"], "none/a.tar: No such file or directory"),
    ],
)
def test_what_cannot_be_exported_is_told(cache, capsys, arguments, message, tmp_path, monkeypatch):
    build(cache, 1)
    monkeypatch.chdir(tmp_path)
    assert re.search(message, refused(capsys, "export", *arguments))
    assert not (tmp_path / "a.tar").exists()


@pytest.mark.parametrize("arguments", [[], ["a.tar", "--layer", "b"]])
def test_an_archive_or_a_layer_is_wanted(capsys, arguments):
    with pytest.raises(SystemExit) as exit_:
        main(["cache", "export", *arguments])
    assert exit_.value.code == 2
    assert "give the archive to write, or --layer" in capsys.readouterr().err


# Keys


def test_with_a_key_it_is_signed_and_opens_with_that_key_alone(
    cache, archive, elsewhere, capsys, monkeypatch
):
    monkeypatch.setenv(FOLDER, str(cache.root))
    monkeypatch.setenv(KEY, SECRET)
    run(capsys, "export", str(archive))
    monkeypatch.setenv(FOLDER, str(elsewhere.root))
    monkeypatch.setenv(KEY, SECRET + "!")
    text = run(capsys, "import", str(archive), status=1)
    assert text.count("was refused: it is damaged, or was signed with another key") == 2
    assert "0 entries of" in text
    assert "taken, 2 refused\n" in text
    monkeypatch.delenv(KEY)
    for arguments in ((), ("--unsigned",)):
        text = run(capsys, "import", str(archive), *arguments, status=1)
        assert "it is signed: set TVMFFI_CUBIN_CACHE_REMOTE_KEY_FILE" in text
    assert published(elsewhere) == []
    monkeypatch.setenv(KEY, SECRET)
    run(capsys, "import", str(archive))
    assert content(elsewhere, 1) == b"1" * 1000


def test_with_a_key_what_is_not_signed_is_refused_unless_it_is_asked_for(
    archive, elsewhere, capsys, monkeypatch
):
    monkeypatch.setenv(KEY, SECRET)
    text = run(capsys, "import", str(archive), status=1)
    assert text.count("it is not signed, and a key is set: give --unsigned to take it") == 2
    assert published(elsewhere) == []
    run(capsys, "import", str(archive), "--unsigned")
    assert content(elsewhere, 2) == b"2" * 1000


def test_a_key_that_is_too_short_is_refused(archive, capsys, monkeypatch):
    monkeypatch.setenv(KEY, "short")
    for action in ("export", "import"):
        assert f"the key in {KEY} has 5 bytes" in refused(capsys, action, str(archive))


# What is not as it was written


def test_whatever_byte_is_changed_nothing_else_than_was_built_comes_in(archive, elsewhere, capsys):
    data = archive.read_bytes()
    for position in range(0, len(data), 331):
        damaged = bytearray(data)
        damaged[position] ^= 0x41
        archive.write_bytes(bytes(damaged))
        main(["cache", "import", str(archive)])
        capsys.readouterr()
        for number in (1, 2):
            assert content(elsewhere, number) in (None, b"%d" % number * 1000)
        run(capsys, "verify")
        run(capsys, "clear")
        uses.leave()


def test_one_that_is_cut_off_anywhere_is_told(archive, elsewhere, capsys):
    data = archive.read_bytes().rstrip(b"\0")
    for length in range(0, len(data), 97):
        archive.write_bytes(data[:length])
        text = refused(capsys, "import", str(archive))
        assert f"{archive} is no archive of entries, or ends too early" in text


def test_one_damaged_entry_does_not_keep_out_the_others(archive, elsewhere, capsys):
    parts = members(archive)
    first, second, _ = parts
    parts[first] = parts[first][:-1] + b"!"
    write(archive, parts)
    text = run(capsys, "import", str(archive), status=1)
    assert f"{first} was refused: it is damaged" in text
    assert published(elsewhere) == [second.removeprefix("bundles/")]


def test_one_entry_does_not_pass_for_another(archive, elsewhere, capsys):
    parts = members(archive)
    first, second, end = parts
    write(archive, {first: parts[second], second: parts[first], end: parts[end]})
    assert run(capsys, "import", str(archive), status=1).count("was refused: ") == 2
    assert published(elsewhere) == []


@pytest.mark.parametrize(
    "name",
    ["../evil", "/tmp/evil", "bundles/../../evil", "bundles/" + "z" * 64, "evil", "bundles/"],
)
def test_what_leads_elsewhere_or_is_unknown_is_refused(archive, elsewhere, capsys, name, tmp_path):
    parts = members(archive)
    first, second, end = parts
    before = set(tmp_path.rglob("*"))
    write(archive, {name: parts[first], second: parts[second], end: parts[end]})
    text = run(capsys, "import", str(archive), status=1)
    assert "was refused: it is no bundle" in text
    assert published(elsewhere) == [second.removeprefix("bundles/")]
    made = {
        path for path in set(tmp_path.rglob("*")) - before if elsewhere.root not in path.parents
    }
    assert made <= {elsewhere.root}


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_links_and_devices_are_refused(archive, elsewhere, capsys, kind):
    parts = members(archive)
    first, second, end = parts
    member = tarfile.TarInfo(first)
    member.type, member.linkname = kind, "/etc/passwd"
    write(archive, {second: parts[second], end: parts[end]}, member)
    assert "was refused: it is no bundle" in run(capsys, "import", str(archive), status=1)
    assert len(published(elsewhere)) == 1


def test_one_that_says_to_be_endless_is_refused(archive, elsewhere, capsys):
    member = tarfile.TarInfo(f"bundles/{'0' * 64}")
    member.size = 1 << 40
    archive.write_bytes(member.tobuf() + bytes(4096))
    assert "ends too early" in refused(capsys, "import", str(archive))


def head(name: bytes, *, size: bytes = b"0", type_: bytes = b"0", real: bytes = b"0") -> bytes:
    """Return the head of a member with these bytes in its fields, and a checksum that is right."""
    block = bytearray(tarfile.TarInfo("x").tobuf(tarfile.GNU_FORMAT))
    for begin, end, field in (
        (0, 100, name),
        (124, 136, size),
        (156, 157, type_),
        (483, 495, real),
    ):
        block[begin:end] = field.ljust(end - begin, b"\0")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


LINK = head(b"././@LongLink", size=b"4", type_=b"L") + b"abc".ljust(512, b"\0")


@pytest.mark.parametrize(
    "data",
    [
        LINK * 2000,  # deeper than Python goes
        head(b"bundles/" + b"0" * 64, size=b"\xff" * 10 + b"\xfe\0"),  # minus 512 bytes: for ever
        head(b"bundles/" + b"0" * 64, type_=b"S", real=b"20000000000"),  # 2 GiB, of which none is
        head(b"x", size=b"40", type_=b"x") + b"99999999999999999999 size=1\n".ljust(512, b"\0"),
    ],
    ids=["links of links", "backwards", "holes", "overflow"],
)
def test_extensions_of_the_format_are_not_followed(archive, elsewhere, capsys, data):
    archive.write_bytes(data + archive.read_bytes())
    assert main(["cache", "import", str(archive)]) == 1
    printed = capsys.readouterr()
    assert f"{archive} is no archive of entries, or ends too early: " in printed.err


def test_names_that_a_terminal_obeys_are_escaped(archive, elsewhere, capsys):
    archive.write_bytes(head(b"a\x1b[2J\n\xff") + archive.read_bytes())
    assert main(["cache", "import", str(archive)]) == 1
    assert r"'a\x1b[2J\n\udcff' was refused: it is no bundle" in capsys.readouterr().out


@pytest.mark.parametrize("data", [b"", b"junk" * 1000, bytes(10240), b"\x1f\x8b" + bytes(100)])
def test_what_is_no_archive_is_refused(tmp_path, elsewhere, capsys, data):
    path = tmp_path / "x.tar"
    path.write_bytes(data)
    assert f"{path} is no archive of entries" in refused(capsys, "import", str(path))


def test_a_missing_file_and_a_folder_are_named(tmp_path, elsewhere, capsys):
    assert "none.tar: No such file" in refused(capsys, "import", str(tmp_path / "none.tar"))
    assert f"{tmp_path} is no plain file" in refused(capsys, "import", str(tmp_path))


@pytest.mark.parametrize("action", ["export", "import"])
def test_a_pipe_is_neither_waited_for_nor_replaced(cache, capsys, tmp_path, action):
    build(cache, 1)
    os.mkfifo(tmp_path / "pipe")
    assert "pipe is no plain file" in refused(capsys, action, str(tmp_path / "pipe"))
    assert (tmp_path / "pipe").is_fifo()


def test_nothing_is_exported_that_others_could_write(cache, capsys, tmp_path):
    build(cache, 1)
    cache.root.chmod(0o777)
    for arguments in ([str(tmp_path / "a.tar")], ["--layer", str(tmp_path / "layer")]):
        assert "its mode is 0777" in refused(capsys, "export", *arguments)


def test_a_cache_that_cannot_be_written_takes_nothing_and_says_so(archive, elsewhere, capsys):
    elsewhere.root.write_text("a file")
    said = refused(capsys, "import", str(archive))
    first = next(iter(members(archive))).removeprefix("bundles/")
    assert f"{elsewhere.root} cannot be written, or is full: {first} was not put there" in said


def test_an_archive_that_cannot_be_written_is_named(cache, capsys, tmp_path, monkeypatch):
    build(cache, 1)

    def refuse(path, *_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    monkeypatch.setattr(tarfile, "open", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    said = refused(capsys, "export", str(tmp_path / "a.tar"))
    assert f"{tmp_path}/a.tar: Read-only file system" in said


def test_a_folder_that_others_may_write_takes_nothing(archive, elsewhere, capsys):
    elsewhere.root.mkdir()
    elsewhere.root.chmod(0o777)
    assert "TVMFFI_CUBIN_CACHE_DIR" in refused(capsys, "import", str(archive))
    assert published(elsewhere) == []


# Layers


def test_a_layer_has_entries_and_records_and_everybody_may_read_it(cache, capsys, tmp_path):
    build(cache, 1)
    build(cache, 2)
    layer = tmp_path / "layer"
    before = os.umask(0o077)
    try:
        assert run(capsys, "export", "--layer", str(layer)) == f"{layer}: 2 entries\n"
    finally:
        os.umask(before)
    assert sorted(path.name for path in layer.iterdir()) == ["deps", "entries"]
    for path in [layer, *layer.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644)
    empty = Cache(tmp_path / "empty", layers=[str(layer)])
    found = empty.find(base(1))
    assert isinstance(found, Entry)
    assert (found.level, found.so.read_bytes()) == ("layer", b"1" * 1000)


def test_folders_above_a_layer_are_made_as_any_other_program_makes_them(cache, capsys, tmp_path):
    build(cache, 1)
    before = os.umask(0o022)
    try:
        run(capsys, "export", "--layer", str(tmp_path / "image" / "opt" / "kernels"))
    finally:
        os.umask(before)
    for folder in (tmp_path / "image", tmp_path / "image" / "opt"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_to_a_layer_others_are_added(cache, capsys, tmp_path):
    build(cache, 1)
    layer = tmp_path / "layer"
    run(capsys, "export", "--layer", str(layer), "--name", "m1")
    build(cache, 2)
    run(capsys, "export", "--layer", str(layer), "--name", "m2")
    assert [content(Cache(layer), number) for number in (1, 2)] == [b"1" * 1000, b"2" * 1000]


def test_a_folder_of_other_things_is_no_layer_and_stays_as_it_is(cache, capsys, tmp_path):
    build(cache, 1)
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "notes").touch()
    said = refused(capsys, "export", "--layer", str(tmp_path / "home"))
    assert f"{tmp_path / 'home'} holds 'notes', which no layer has: give a new folder" in said
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["notes"]
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700


def test_what_is_damaged_is_not_put_into_a_layer(cache, capsys, tmp_path):
    path = build(cache, 1)
    (path / "vec.cc").write_text("other.")
    text = run(capsys, "export", "--layer", str(tmp_path / "layer"))
    assert "was left out: the content of vec.cc is not what was published" in text
    assert published(Cache(tmp_path / "layer")) == []


def test_a_disk_that_fills_up_is_no_entry_that_is_left_out(cache, capsys, tmp_path, monkeypatch):
    build(cache, 1)

    def full(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)

    monkeypatch.setattr("shutil.copyfile", full)
    assert "No space left on device" in refused(capsys, "export", "--layer", str(tmp_path / "l"))
    assert list((tmp_path / "l").rglob("vec*")) == []
