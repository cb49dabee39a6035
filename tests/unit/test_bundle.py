"""Bundles: whatever is not exactly what was signed is refused before anything of it is read."""

import json
import os
import struct
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tvmffi_cubin import bundle, envelope
from tvmffi_cubin.bundle import Bundle
from tvmffi_cubin.dependency_set import DependencySet
from tvmffi_cubin.observer import Observer

BASE = "ab" * 32
KEY = b"a secret of 16+ bytes"
FILES = {"vec.so": b"\x7fELF" * 100, "manifest.json": b"{}", "src/vec.cc": b"source", "empty": b""}


@pytest.fixture
def about(tmp_path):
    header = tmp_path / "a.h"
    header.write_text("#define A 1\n")
    with Observer({}) as observer:
        names = [str(header), str(tmp_path / "absent.h")]
        made = DependencySet.observe(names, BASE, observer)
    return Bundle(BASE, made)


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path / "entry", FILES)


@pytest.fixture
def packed(folder, about):
    return bundle.pack(folder, about, key=KEY)


def written(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return str(folder)


def files_in(folder):
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def unpacked(data, target, name, key=KEY):
    target.mkdir(exist_ok=True)
    return bundle.unpack(data, str(target), name=name, key=key)


def forged(payload, name, key=KEY):
    """What somebody with the key could make."""
    return envelope.pack(payload, purpose="entry", name=name, key=key)


def forged_entry(about, contents, changes=None):
    head = {
        "schema": 1,
        "base_key": about.base_key,
        "names": about.made.names,
        "digests": about.made.digests,
        "entry": about.made.entry,
        "files": [[name, len(content)] for name, content in contents],
    }
    text = json.dumps(head | (changes or {})).encode()
    payload = b"".join([struct.pack("<Q", len(text)), text, *(content for _, content in contents)])
    return forged(payload, about.made.entry)


# What was packed comes out


@pytest.mark.parametrize("key", [KEY, None], ids=["signed", "unsigned"])
def test_an_entry_comes_out_as_it_went_in(folder, about, tmp_path, key):
    data = bundle.pack(folder, about, key=key)
    assert envelope.is_signed(data) == (key is not None)
    found = unpacked(data, tmp_path / "out", about.made.entry, key)
    assert files_in(tmp_path / "out") == FILES
    assert found.base_key == about.base_key
    assert (found.made.names, found.made.digests) == (about.made.names, about.made.digests)
    with Observer({}) as observer:
        assert found.made.check(observer) is not None


def test_stamps_of_another_machine_are_not_taken(packed, about, tmp_path):
    found = unpacked(packed, tmp_path / "out", about.made.entry)
    assert set(found.made.stamps) == {"?"}


def test_the_same_entry_gives_the_same_bytes(packed, about, tmp_path):
    other = written(tmp_path / "other", dict(reversed(FILES.items())))
    assert bundle.pack(other, about, key=KEY) == packed


def test_without_a_module_for_zstd_zlib_is_used_and_read(folder, about, tmp_path, monkeypatch):
    monkeypatch.setattr(envelope, "zstd_module", lambda: None)
    data = bundle.pack(folder, about, key=KEY)
    monkeypatch.setattr(envelope, "unzstd", refuse)
    unpacked(data, tmp_path / "out", about.made.entry)
    assert files_in(tmp_path / "out") == FILES


def test_sets_come_out_as_they_went_in(about):
    data = bundle.pack_sets([about.made, about.made], base_key=BASE, key=KEY)
    for found in bundle.unpack_sets(data, base_key=BASE, key=KEY):
        assert (found.entry, found.digests) == (about.made.entry, about.made.digests)


# What is not exactly that is refused, unread


def refuse(*args, **kwargs):
    raise AssertionError("something was read before the tag was right")


@pytest.fixture
def unread(monkeypatch):
    """Fail the test where anything of a bundle is decompressed or parsed."""
    monkeypatch.setattr(envelope, "unzstd", refuse)
    monkeypatch.setattr(zlib, "decompressobj", refuse)
    monkeypatch.setattr(json, "loads", refuse)


KEPT = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@KEPT
@given(data=st.data())
def test_every_changed_byte_is_refused_before_anything_is_read(packed, about, unread, data):
    place = data.draw(st.integers(0, len(packed) - 1))
    flip = data.draw(st.integers(1, 255))
    damaged = packed[:place] + bytes([packed[place] ^ flip]) + packed[place + 1 :]
    with pytest.raises(ValueError, match="it is"):
        bundle.unpack(damaged, "/nowhere", name=about.made.entry, key=KEY)


@KEPT
@given(data=st.data())
def test_every_other_length_and_order_is_refused_before_anything_is_read(
    packed, about, unread, data
):
    start = data.draw(st.integers(0, len(packed)))
    end = data.draw(st.integers(start, len(packed)))
    insert = data.draw(st.binary(max_size=40) | st.just(packed[start:end]))
    changed = packed[:start] + insert + packed[end:]
    if changed == packed:
        return
    with pytest.raises(ValueError, match="it is"):
        bundle.unpack(changed, "/nowhere", name=about.made.entry, key=KEY)


@KEPT
@given(garbage=st.binary(max_size=200), at=st.integers(0, 60))
def test_whatever_bytes_come_are_refused(packed, about, unread, garbage, at):
    with pytest.raises(ValueError, match="it is"):
        bundle.unpack(packed[:at] + garbage, "/nowhere", name=about.made.entry, key=KEY)


def test_every_other_key_is_refused(packed, about, unread):
    for place in range(len(KEY) * 8):
        other = bytearray(KEY)
        other[place // 8] ^= 1 << place % 8
        with pytest.raises(ValueError, match="was signed with another key"):
            bundle.unpack(packed, "/nowhere", name=about.made.entry, key=bytes(other))


def test_another_entrys_bundle_is_refused(packed, unread):
    with pytest.raises(ValueError, match="it is damaged, or was signed"):
        bundle.unpack(packed, "/nowhere", name="cd" * 32, key=KEY)


def test_sets_are_no_entry_and_no_sets_of_another_key(about, unread):
    data = bundle.pack_sets([about.made], base_key=about.made.entry, key=KEY)
    with pytest.raises(ValueError, match="it is damaged, or was signed"):
        bundle.unpack(data, "/nowhere", name=about.made.entry, key=KEY)
    with pytest.raises(ValueError, match="it is damaged, or was signed"):
        bundle.unpack_sets(data, base_key=BASE, key=KEY)


def test_signed_and_unsigned_do_not_pass_for_each_other(folder, packed, about, unread):
    unsigned = bundle.pack(folder, about, key=None)
    name = about.made.entry
    with pytest.raises(ValueError, match="it is unsigned"):
        bundle.unpack(unsigned, "/nowhere", name=name, key=KEY)
    with pytest.raises(ValueError, match="it is signed with a key"):
        bundle.unpack(packed, "/nowhere", name=name, key=None)
    # Nor with the letter changed that says which it is.
    signed_now = unsigned[:9] + b"S" + unsigned[10:]
    unsigned_now = packed[:9] + b"U" + packed[10:]
    for data, key in ((signed_now, KEY), (unsigned_now, None)):
        with pytest.raises(ValueError, match="it is damaged"):
            bundle.unpack(data, "/nowhere", name=name, key=key)


def test_a_short_key_is_no_key(folder, about):
    with pytest.raises(ValueError, match="at least 16 bytes, got 15"):
        bundle.pack(folder, about, key=KEY[:15])


def test_the_purpose_and_the_name_are_framed():
    data = envelope.pack(b"x", purpose="ab", name="c", key=KEY)
    with pytest.raises(ValueError, match="it is damaged"):
        envelope.unpack(data, purpose="a", name="bc", key=KEY, limit=10)


# Even with the key nothing leads out of the folder, and nothing grows without end


@pytest.mark.parametrize("compress", [True, False], ids=["zstd", "zlib"])
def test_more_than_the_limit_is_not_decompressed(compress, monkeypatch):
    if not compress:
        monkeypatch.setattr(envelope, "zstd_module", lambda: None)
    bomb = envelope.pack(bytes(1 << 20), purpose="p", name="n", key=KEY)
    assert len(bomb) < 4096
    with pytest.raises(ValueError, match="holds 1048576 bytes, at most 1000 are taken"):
        envelope.unpack(bomb, purpose="p", name="n", key=KEY, limit=1000)


@pytest.mark.parametrize("compress", [True, False], ids=["zstd", "zlib"])
@pytest.mark.parametrize("said", [0, 10, 1000])
def test_a_size_that_is_not_true_is_refused(compress, said, monkeypatch):
    if not compress:
        monkeypatch.setattr(envelope, "zstd_module", lambda: None)
    honest = envelope.pack(bytes(100), purpose="p", name="n", key=KEY)
    head, body = bytearray(honest[:19]), honest[51:]
    head[11:19] = struct.pack("<Q", said)
    tag = envelope._tag(bytes(head), body, "p", "n", KEY)
    with pytest.raises(ValueError, match=r"damaged (zstd|zlib) data"):
        envelope.unpack(bytes(head) + tag + body, purpose="p", name="n", key=KEY, limit=5000)


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "..",
        "../out",
        "a/../../out",
        "a//b",
        "",
        ".",
        "a/",
        "a\0b",
        "x" * 2000,
        "x" * 256,
        7,
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(about, tmp_path, name):
    data = forged_entry(about, [(name, b"content")])
    with pytest.raises(ValueError, match="is no relative path"):
        unpacked(data, tmp_path / "out", about.made.entry)
    assert files_in(tmp_path / "out") == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": 2},
        {"base_key": 7},
        {"base_key": "cd" * 32},
        {"names": ["/a.h"]},
        {"names": [1, 2]},
        {"digests": None},
        {"entry": "cd" * 32},
        {"files": [["a", -1]]},
        {"files": [["a", 10**30]]},
        {"files": [["a", "4"]]},
        {"files": [["a", True]]},
        {"files": [["a", 0], ["a", 4]]},
        {"files": [["b", 0], ["a", 4]]},
        {"files": [["a", 3]]},
        {"files": [["a", 4], ["b", 4]]},
        {"files": 7},
        {"files": [[]]},
        {"files": [["a", 0]] * 10_001},
        {"files": [["a", 0], ["a/b/c", 4]]},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_impossible_content_is_refused_and_nothing_is_written(about, tmp_path, changes):
    data = forged_entry(about, [("a", b"1234")], changes)
    with pytest.raises(ValueError):
        unpacked(data, tmp_path / "out", about.made.entry)
    assert files_in(tmp_path / "out") == {}


@pytest.mark.parametrize(
    "payload",
    [b"", b"1234567", struct.pack("<Q", 1 << 60), struct.pack("<Q", 2) + b"[]", bytes(8) + b"{}"],
)
def test_content_that_is_none_is_refused(about, tmp_path, payload):
    with pytest.raises(ValueError):
        unpacked(forged(payload, about.made.entry), tmp_path / "out", about.made.entry)


def test_nesting_without_end_is_refused(about, tmp_path):
    text = b"[" * 100_000
    payload = struct.pack("<Q", len(text)) + text
    with pytest.raises(ValueError):
        unpacked(forged(payload, about.made.entry), tmp_path / "out", about.made.entry)
    data = envelope.pack(text, purpose="sets", name=BASE, key=KEY)
    with pytest.raises(ValueError):
        bundle.unpack_sets(data, base_key=BASE, key=KEY)


@pytest.mark.parametrize("value", [[], {}, {"schema": 2}, {"schema": 1, "sets": [{}]}, 7])
def test_sets_that_are_none_are_refused(value):
    data = envelope.pack(json.dumps(value).encode(), purpose="sets", name=BASE, key=KEY)
    with pytest.raises(ValueError):
        bundle.unpack_sets(data, base_key=BASE, key=KEY)


@pytest.mark.parametrize("kind", ["file", "folder", "dangling", "pipe"])
def test_a_folder_with_something_else_than_files_is_not_packed(folder, about, tmp_path, kind):
    place = os.path.join(folder, "odd")
    if kind == "pipe":
        os.mkfifo(place)
    else:
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").write_text("secret")
        os.symlink(tmp_path / kind, place)
    with pytest.raises(ValueError, match="odd is no plain file"):
        bundle.pack(folder, about, key=KEY)


def test_what_is_too_large_for_a_bundle_is_not_read(folder, about, monkeypatch):
    os.truncate(f"{folder}/vec.so", bundle.MOST_BYTES)
    monkeypatch.setattr(bundle, "_content", None)
    with pytest.raises(ValueError, match=r"4 files and 1073741832 bytes; a bundle takes"):
        bundle.pack(folder, about, key=KEY)


def test_an_unpacked_file_never_goes_through_a_link(packed, about, tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    os.symlink(tmp_path / "elsewhere", target / "vec.so")
    with pytest.raises(FileExistsError):
        unpacked(packed, target, about.made.entry)
    assert not (tmp_path / "elsewhere").exists()
