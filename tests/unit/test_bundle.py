"""Entries that travel: what is signed opens with the key alone, and only as what it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cache_builder import BASE, Builder, record_file
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin.cache import bundle
from tvmffi_cubin.cache.bundle import Bundle, check, pack, sign, unpack
from tvmffi_cubin.cache.record import read_record
from tvmffi_cubin.cache.store import Cache

KEY = b"k" * 32


@pytest.fixture
def made(cache: Cache) -> tuple[Path, Bundle]:
    entry = cache.obtain(BASE, Builder(b"content" * 100))
    (reads,) = read_record(record_file(cache))
    return entry.path, Bundle(BASE, reads)


@pytest.mark.parametrize("key", [KEY, None])
def test_an_entry_comes_out_as_it_went_in(made, tmp_path, key):
    folder, about = made
    data = pack(str(folder), about, key)
    assert pack(str(folder), about, key) == data
    (tmp_path / "out").mkdir()
    found = unpack(data, str(tmp_path / "out"), entry=about.reads.entry, key=key)
    assert found == Bundle(BASE, about.reads.unstamped())
    for name in ("vec.so", "vec.cc", "manifest.json"):
        assert (tmp_path / "out" / name).read_bytes() == (folder / name).read_bytes()


@given(data=st.data())
def test_every_changed_byte_is_refused(data):
    signed = sign(b"some bytes" * 10, "name", KEY)
    at = data.draw(st.integers(0, len(signed) - 1))
    changed = bytearray(signed)
    changed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match="it is "):
        check(bytes(changed), "name", KEY)


@pytest.mark.parametrize(
    ("name", "key", "message"),
    [
        ("other", KEY, "damaged, or was signed with another key"),
        ("name", b"x" * 32, "damaged, or was signed with another key"),
        ("name", None, "signed with a key"),
    ],
)
def test_another_name_or_key_does_not_open_it(name, key, message):
    with pytest.raises(ValueError, match=message):
        check(sign(b"data", "name", KEY), name, key)


def test_what_is_not_signed_does_not_pass_for_it():
    with pytest.raises(ValueError, match="unsigned"):
        check(sign(b"data", "name", None), "name", KEY)
    with pytest.raises(ValueError, match="no bundle"):
        check(b"whatever", "name", KEY)


def test_more_than_the_limit_is_not_decompressed(monkeypatch):
    monkeypatch.setattr(bundle, "MOST_BYTES", 100)
    with pytest.raises(ValueError, match="more than 100 bytes"):
        check(sign(bytes(1000), "name", KEY), "name", KEY)


@pytest.mark.parametrize("name", ["/x", "../x", "a/../../x", "x\n"])
def test_a_name_that_leads_elsewhere_is_refused(made, tmp_path, name):
    about = made[1]
    head = {**bundle._head(about), "files": [[name, 1]]}
    data = sign(bundle.json.dumps(head).encode() + b"\0x", f"entry {about.reads.entry}", KEY)
    with pytest.raises(ValueError, match="no file of an entry"):
        unpack(data, str(tmp_path), entry=about.reads.entry, key=KEY)
    assert not os.path.exists("/x")
