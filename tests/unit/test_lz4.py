"""LZ4 blocks, written by hand and by a compressor for tests."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packing import in_lz4, sequence

from tvmffi_cubin.lz4 import decompress


@pytest.mark.parametrize(
    ("block", "data"),
    [
        (sequence(b"abc"), b"abc"),
        (sequence(b"ab", 2, 9) + sequence(b""), b"ababababab" + b"a"),
        (sequence(b"\0", 1, 300) + sequence(b"x"), bytes(301) + b"x"),
        (sequence(b"x" * 600) + b"", b"x" * 600),
        (sequence(b"abcdef", 6, 4) + sequence(b"!"), b"abcdefabcd!"),
        (b"", b""),
    ],
)
def test_a_block_stands_for_its_bytes(block, data):
    assert decompress(block, len(data)) == data


@given(st.lists(st.sampled_from([b"a", b"bc", b"\0\0\0\0\0", b"defghijk"]), max_size=80))
def test_what_was_compressed_comes_back(parts):
    data = b"".join(parts)
    assert decompress(in_lz4(data), len(data)) == data


@pytest.mark.parametrize(
    ("block", "size"),
    [
        (sequence(b"abc"), 2),
        (sequence(b"abc"), 4),
        (sequence(b"abc")[:-1], 3),
        (sequence(b"abc", 4, 4) + sequence(b""), 7),
        (b"\x30abc\0\0", 7),
        (b"\xf0" + b"\xff" * 9, 3000),
        (sequence(b"a", 1, 100) + sequence(b""), 50),
    ],
)
def test_damage_is_a_value_error(block, size):
    with pytest.raises(ValueError, match="damaged LZ4 data"):
        decompress(block, size)


@given(st.binary(max_size=200), st.integers(0, 2**40))
def test_any_bytes_are_decompressed_or_a_value_error(block, size):
    with contextlib.suppress(ValueError):
        assert len(decompress(block, size)) == size
