"""Writes fatbins by hand, for tests of what reads them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

__all__ = ["FAMILY", "LZ4", "SPECIFIC", "ZSTD", "Row", "fatbin"]

PTX, ELF, LTOIR = 1, 2, 8
LZ4, ZSTD = 0x2000, 0x8000
SPECIFIC, FAMILY = 0x100000, 0x200000
_LINUX_64 = 0x11


@dataclass
class Row:
    """One member: ``data`` as it is stored, ``full`` its size where that is compressed."""

    arch: int
    data: bytes
    kind: int = ELF
    flags: int = 0
    full: int = 0
    more_header: bytes = b""

    def build(self) -> bytes:
        padded = self.data + bytes(-len(self.data) % 8)
        compressed = len(self.data) if self.flags & (LZ4 | ZSTD) else 0
        header = struct.pack(
            "<HHIQIIHHIIIQQQ",
            *(self.kind, 0x101, 64 + len(self.more_header), len(padded), compressed, 0),
            *(7, 1, self.arch, 0, 0, self.flags | _LINUX_64, 0, self.full),
        )
        return header + self.more_header + padded


def fatbin(*rows: Row) -> bytes:
    body = b"".join(row.build() for row in rows)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body
