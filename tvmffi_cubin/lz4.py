"""Decompresses an LZ4 block, what CUDA 12's tools compress the members of a fatbin to."""

from __future__ import annotations

__all__ = ["decompress"]

_LEAST_MATCH = 4


def decompress(data: bytes, size: int) -> bytes:
    """Return the `size` bytes that an LZ4 block stands for.

    A block is a row of sequences: a byte with two lengths, literal bytes, and how far back the
    bytes lie that are repeated next. The last sequence repeats none.

    Raises
    ------
    ValueError
        The block is damaged, or stands for another number of bytes.
    """
    out = bytearray()
    position = 0
    while position < len(data):
        token = data[position]
        count, position = _length(data, position + 1, token >> 4)
        if position + count > len(data) or len(out) + count > size:
            raise ValueError("damaged LZ4 data: literals beyond the end")
        out += data[position : position + count]
        position += count
        if position == len(data):
            break
        distance = int.from_bytes(data[position : position + 2], "little")
        count, position = _length(data, position + 2, token & 15)
        count += _LEAST_MATCH
        if not 0 < distance <= len(out) or len(out) + count > size:
            raise ValueError("damaged LZ4 data: a repetition reaches outside of it")
        start = len(out) - distance
        pattern = out[start : start + count]
        # The bytes that are repeated may be those that the repetition itself writes.
        out += (pattern * -(-count // len(pattern)))[:count]
    if len(out) != size:
        raise ValueError(f"damaged LZ4 data: it holds {len(out)} bytes, {size} were announced")
    return bytes(out)


def _length(data: bytes, position: int, nibble: int) -> tuple[int, int]:
    """Return a length, which goes on in further bytes where its four bits are full."""
    if nibble < 15:
        return nibble, position
    length = nibble
    while position < len(data):
        length += data[position]
        position += 1
        if data[position - 1] != 255:
            return length, position
    raise ValueError("damaged LZ4 data: a length goes on beyond the end")
