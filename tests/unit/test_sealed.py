"""Sealed JSON: what was written comes back, and nothing else does."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin.sealed import read_sealed, seal, unseal, write_sealed

CONTENT = {"schema": 1, "names": ["a.h", "\udcff.h"], "facts": {"x": None, "seal": "inner"}}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text().filter(lambda name: name != "seal"), JSON, min_size=1), st.text())
def test_what_is_sealed_comes_back(content, name):
    assert unseal(seal(content, name), name) == content


def test_it_is_json_that_other_programs_read():
    assert json.loads(seal(CONTENT, "x")).keys() == {*CONTENT, "seal"}


def test_no_byte_of_it_can_be_another():
    data = seal(CONTENT, "x")
    for index in range(len(data)):
        for flip in (0x01, 0x20, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[index] ^= flip
            with pytest.raises(ValueError, match=r"seal"):
                unseal(bytes(damaged), "x")


def test_no_part_of_it_is_taken_for_the_whole():
    data = seal(CONTENT, "x")
    others = [data[:end] for end in range(len(data))]
    others += [data[start:] for start in range(1, len(data))]
    others += [data + b"\n", data + data, b"", b"{}", b'{"schema":1}', bytes(4096)]
    for other in others:
        with pytest.raises(ValueError, match=r"seal"):
            unseal(other, "x")


def test_what_belongs_elsewhere_does_not_check():
    with pytest.raises(ValueError, match="not what was sealed"):
        unseal(seal(CONTENT, "deps/1"), "deps/2")


@pytest.mark.parametrize("content", [{}, {"seal": 1}])
def test_what_cannot_be_sealed_is_refused(content):
    with pytest.raises(ValueError, match="JSON object with members"):
        seal(content, "x")


@pytest.mark.parametrize("value", [[], "text", None, 1])
def test_what_is_no_object_is_refused_although_its_seal_checks(value):
    with pytest.raises(ValueError, match="seal"):
        unseal(json.dumps(value).encode() + seal(CONTENT, "x"), "x")


def test_a_file_is_replaced_and_read(tmp_path: Path):
    path = str(tmp_path / "x.json")
    for number in range(2):
        write_sealed(path, "x", {"number": number})
        assert read_sealed(path, "x") == {"number": number}
    assert os.listdir(tmp_path) == ["x.json"]


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "link to a device"])
def test_what_is_no_file_is_neither_waited_for_nor_read(tmp_path: Path, kind: str):
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path = Path("/dev/zero")
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="no plain file"):
        read_sealed(str(path), "x")
