"""Which build of a library of CUDA's is used: read from wherever the file says it."""

from __future__ import annotations

import os

import pytest

from tvmffi_cubin.cuda import libraries as module
from tvmffi_cubin.cuda.libraries import identity, load, replacement
from tvmffi_cubin.errors import ToolchainError

BUILD = bytes(range(20))


@pytest.fixture(autouse=True)
def _nothing_loaded(monkeypatch):
    monkeypatch.setattr(module, "_noted", {})


@pytest.fixture
def library(tmp_path):
    return tmp_path / "libnvrtc.so.12"


def note(build: bytes = BUILD) -> bytes:
    return module._BUILD_ID + build


def replace(library, data: bytes) -> None:
    """Put another file in a library's place, as pip does."""
    library.with_suffix(".new").write_bytes(data)
    os.replace(library.with_suffix(".new"), library)


@pytest.mark.parametrize("before", [0, 64, 8192, 1 << 20])
@pytest.mark.parametrize("after", [0, 16])
def test_the_build_counts_where_the_note_is_first_or_last(library, before, after):
    library.write_bytes(bytes(before) + note() + bytes(after))
    assert identity("NVRTC", 12, library) == f"NVRTC 12, build {BUILD.hex()}"


def test_a_library_that_does_not_say_its_build_is_known_by_its_size(library):
    library.write_bytes(bytes(9000))
    assert identity("NVRTC", 12, library) == "NVRTC 12 of 9000 bytes"


def test_what_was_loaded_and_is_there_still_is_not_replaced(library):
    assert replacement() == ""
    library.write_bytes(note())
    with pytest.raises(ToolchainError):  # it is none, and that is known afterwards
        load(library, "NVRTC")
    replace(library, note())
    assert replacement() == ""


@pytest.mark.parametrize("now", [None, note(bytes(20))])
def test_what_is_gone_or_another_since_it_was_loaded_is_told(library, now):
    library.write_bytes(note())
    with pytest.raises(ToolchainError):  # it is none, and that is known afterwards
        load(library, "NVRTC")
    library.unlink() if now is None else replace(library, now)
    assert str(library) in replacement()
    assert "start the process again" in replacement()
