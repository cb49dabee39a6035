"""Damages images in the ways that files are damaged, and in ways that only somebody would."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

__all__ = ["MUTATIONS", "mutate"]

_SECTION = 64
_EDGES = (
    *(0, 1, 7, 8, 63, 64, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF),
    *(1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 8, (1 << 64) - 1),
)


def mutate(data: bytes, seed: int) -> bytes:
    """Return a damaged copy; the same for the same seed."""
    random_ = random.Random(seed)
    changed = bytearray(data)
    for _ in range(random_.choice((1, 1, 1, 2, 4))):
        random_.choice(MUTATIONS)(changed, random_)
    return bytes(changed)


def _flip_bits(data: bytearray, random_: random.Random) -> None:
    for _ in range(random_.randint(1, 8)):
        if data:
            data[random_.randrange(len(data))] ^= 1 << random_.randrange(8)


def _overwrite(data: bytearray, random_: random.Random) -> None:
    start, size = random_.randrange(len(data) + 1), random_.randint(1, 64)
    filled = random_.choice((bytes(size), b"\xff" * size, random_.randbytes(size)))
    data[start : start + size] = filled[: len(data) - start]


def _truncate(data: bytearray, random_: random.Random) -> None:
    del data[random_.randrange(len(data) + 1) :]


def _cut_out(data: bytearray, random_: random.Random) -> None:
    start = random_.randrange(len(data) + 1)
    del data[start : start + random_.randint(1, 200)]


def _repeat(data: bytearray, random_: random.Random) -> None:
    start, size = random_.randrange(len(data) + 1), random_.randint(1, 400)
    data[start:start] = data[start : start + size] * random_.randint(1, 3)


def _copy_range(data: bytearray, random_: random.Random) -> None:
    size = random_.randint(1, 128)
    if len(data) > size:
        source, target = (random_.randrange(len(data) - size) for _ in range(2))
        data[target : target + size] = data[source : source + size]


def _number_somewhere(data: bytearray, random_: random.Random) -> None:
    """Set a number of 2, 4 or 8 bytes, wherever it is, to one that programs stumble over."""
    size = random_.choice((2, 4, 8))
    if len(data) > size:
        _put(data, random_.randrange(len(data) // size) * size, size, random_)


def _header_field(data: bytearray, random_: random.Random) -> None:
    """Set a number in the first 128 bytes: an ELF header, or a fatbin's first two."""
    size = random_.choice((2, 4, 8))
    if len(data) >= 128:
        _put(data, random_.randrange(128 // size) * size, size, random_)


def _section_field(data: bytearray, random_: random.Random) -> None:
    start = _some_section(data, random_)
    if start is not None:
        offset, size = random_.choice(
            ((0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8), (56, 8))
        )
        _put(data, start + offset, size, random_)


def _swap_sections(data: bytearray, random_: random.Random) -> None:
    one, other = _some_section(data, random_), _some_section(data, random_)
    if one is not None and other is not None:
        first, second = data[one : one + _SECTION], data[other : other + _SECTION]
        data[one : one + _SECTION], data[other : other + _SECTION] = second, first


def _overlay_sections(data: bytearray, random_: random.Random) -> None:
    """Let one section lie where another does."""
    one, other = _some_section(data, random_), _some_section(data, random_)
    if one is not None and other is not None:
        data[one + 24 : one + 40] = data[other + 24 : other + 40]


def _in_section(data: bytearray, random_: random.Random) -> None:
    """Set a number inside a section: an attribute's size, a symbol's name, a parameter's place."""
    start = _some_section(data, random_)
    if start is None:
        return
    offset, size = struct.unpack_from("<QQ", data, start + 24)
    if size >= 8 and offset + size <= len(data):
        width = random_.choice((1, 2, 4, 8))
        _put(data, offset + random_.randrange(size // width) * width, width, random_)


def _some_section(data: bytearray, random_: random.Random) -> int | None:
    """Return where a row of the section table of some ELF image in the data begins."""
    starts = [i for i in range(0, len(data) - 64, 8) if data[i : i + 4] == b"\x7fELF"]
    if not starts:
        return None
    image = random_.choice(starts)
    (table,) = struct.unpack_from("<Q", data, image + 40)
    (count,) = struct.unpack_from("<H", data, image + 60)
    start = image + table + _SECTION * random_.randrange(count or 1)
    return start if start + _SECTION <= len(data) else None


def _put(data: bytearray, offset: int, size: int, random_: random.Random) -> None:
    old = int.from_bytes(data[offset : offset + size], "little")
    near = old + random_.choice((-64, -8, -1, 1, 8, 64))
    value = random_.choice((*_EDGES, len(data), near, near, old * 2, random_.getrandbits(64)))
    data[offset : offset + size] = (value % (1 << 8 * size)).to_bytes(size, "little")


MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip_bits,
    _overwrite,
    _truncate,
    _cut_out,
    _repeat,
    _copy_range,
    _number_somewhere,
    _header_field,
    _section_field,
    _section_field,
    _swap_sections,
    _overlay_sections,
    _in_section,
    _in_section,
)
"""Each changes data in one way."""
