"""How large the cache may be, as people write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin.limit import capacity, read_size, size_text

NAME = "TVMFFI_CUBIN_CACHE_SIZE"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("5GB", 5 * 10**9),
        ("500MB", 500 * 10**6),
        ("2GiB", 2 << 30),
        ("1.5 kb", 1500),
        (" 64KiB ", 64 << 10),
        ("7", 7),
        ("7B", 7),
        ("3T", 3 * 10**12),
        ("0.0000000001TB", 100),
        ("unlimited", None),
        (" Unlimited", None),
    ],
)
def test_a_size_has_a_unit_or_none(text, size, monkeypatch):
    monkeypatch.setenv(NAME, text)
    assert capacity() == size


@pytest.mark.parametrize("value", [None, ""])
def test_the_default_is_five_gigabytes(value, monkeypatch):
    monkeypatch.delenv(NAME, raising=False)
    if value is not None:
        monkeypatch.setenv(NAME, value)
    assert capacity() == 5 * 10**9


@pytest.mark.parametrize(
    "text",
    ["0", "0GB", "-1", "5 XB", "GB", "1e9", "5,5GB", "none", "9" * 5000, "9" * 30, "\u0665GB", "."],
)
def test_other_values_are_errors_that_say_what_is_wanted(text, monkeypatch):
    monkeypatch.setenv(NAME, text)
    with pytest.raises(ValueError, match=rf"^{NAME}='.*': wanted a number .* unlimited; .*=off$"):
        capacity()


@given(st.integers(0, 10**15))
def test_what_is_printed_reads_as_about_the_same(size):
    text = size_text(size)
    assert len(text) <= 9
    if size:
        read = read_size(text, what="size")
        assert read is not None
        assert abs(read - size) <= 0.051 * 1000 ** ((len(str(size)) - 1) // 3) + size * 1e-3


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_951, "1.0 MB")],
)
def test_sizes_for_people(size, text):
    assert size_text(size) == text
