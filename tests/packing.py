"""Packs data in LZ4, as fatbins have it."""

from __future__ import annotations

__all__ = ["in_lz4", "sequence"]


def sequence(literals: bytes, distance: int = 0, count: int = 0) -> bytes:
    """Return one sequence of LZ4; without a distance the last one."""
    repeated = count - 4 if distance else 0
    token = min(len(literals), 15) << 4 | min(repeated, 15)
    tail = distance.to_bytes(2, "little") + _extension(repeated) if distance else b""
    return bytes([token]) + _extension(len(literals)) + literals + tail


def _extension(length: int) -> bytes:
    if length < 15:
        return b""
    full, rest = divmod(length - 15, 255)
    return b"\xff" * full + bytes([rest])


def in_lz4(data: bytes) -> bytes:
    """Return an LZ4 block that repeats what lies at most 64 bytes back, wherever four bytes do."""
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
