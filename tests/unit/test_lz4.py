"""LZ4 blocks, written by hand and by a compressor for tests."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin.lz4 import decompress


def sequence(literals: bytes, distance: int = 0, count: int = 0) -> bytes:
    """Return one sequence; without a distance the last one."""
    repeated = count - 4 if distance else 0
    token = min(len(literals), 15) << 4 | min(repeated, 15)
    tail = distance.to_bytes(2, "little") + extension(repeated) if distance else b""
    return bytes([token]) + extension(len(literals)) + literals + tail


def extension(length: int) -> bytes:
    if length < 15:
        return b""
    full, rest = divmod(length - 15, 255)
    return b"\xff" * full + bytes([rest])


def compress(data: bytes) -> bytes:
    """Repeat what lies at most 64 bytes back, wherever four bytes do."""
    out, literals, at = b"", b"", 0
    while at < len(data):
        best = (0, 0)
        for distance in range(1, min(at, 64) + 1):
            count = 0
            while at + count < len(data) and data[at + count] == data[at + count - distance]:
                count += 1
            best = max(best, (count, distance))
        if best[0] >= 4:
            out += sequence(literals, best[1], best[0])
            literals, at = b"", at + best[0]
        else:
            literals, at = literals + data[at : at + 1], at + 1
    return out + sequence(literals)


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
    assert decompress(compress(data), len(data)) == data


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
