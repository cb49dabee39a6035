"""Writes small CUDA ELF images and fatbins by hand, for tests of what reads them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field


def item(attribute: int, value: bytes) -> bytes:
    return struct.pack("<BBH", 4, attribute, len(value)) + value


def number_item(attribute: int, value: int, layout: int = 3) -> bytes:
    return struct.pack("<BBH", layout, attribute, value)


def kparam(ordinal: int, offset: int, size: int) -> bytes:
    return item(0x17, struct.pack("<IHHI", 0, ordinal, offset, size << 18 | 0x1F000))


def kparam_v2(ordinal: int, offset: int, size: int) -> bytes:
    return item(0x45, struct.pack("<IHHI", 0, ordinal, offset, size | 0x05000000))


@dataclass
class Entry:
    name: str
    info: bytes = b""
    registers: int | None = 16
    shared: int | None = None


@dataclass
class Image:
    entries: list[Entry] = field(default_factory=list)
    flags: int = 0x5A055A
    osabi: int = 0x33
    machine: int = 190
    file_type: int = 2
    extra: dict[str, bytes] = field(default_factory=dict)

    def build(self) -> bytes:
        strings = b"\0"
        symbols = [bytes(24)]
        sections: list[tuple[str, int, bytes | int, int, int]] = []
        usage = b""
        for index, entry in enumerate(self.entries, 1):
            symbols.append(struct.pack("<IBBHQQ", len(strings), 0x12, 0x10, index, 0, 128))
            strings += entry.name.encode() + b"\0"
            if entry.registers is not None:
                usage += item(0x2F, struct.pack("<II", index, entry.registers))
            usage += item(0x11, struct.pack("<II", index, 8))
            sections.append((f".text.{entry.name}", 1, bytes(16), 0, 24 << 24))
            sections.append((f".nv.info.{entry.name}", 0x70000000, entry.info, 0, 0))
            if entry.shared is not None:
                sections.append((f".nv.shared.{entry.name}", 8, entry.shared, 0, 0))
        sections.append((".nv.info", 0x70000000, usage, 0, 0))
        sections += [(name, 1, data, 0, 0) for name, data in self.extra.items()]
        sections.append((".symtab", 2, b"".join(symbols), len(sections) + 2, 1))
        sections.append((".strtab", 3, strings, 0, 0))
        return self._assemble(sections)

    def _assemble(self, sections: list[tuple[str, int, bytes | int, int, int]]) -> bytes:
        names = b"\0"
        body = b""
        rows = [bytes(64)]
        for name, kind, data, link, info in [*sections, (".shstrtab", 3, b"", 0, 0)]:
            offset = len(names)
            names += name.encode() + b"\0"
            content = names if name == ".shstrtab" else data
            size = content if isinstance(content, int) else len(content)
            rows.append(
                struct.pack(
                    "<IIQQQQIIQQ", offset, kind, 0, 0, 64 + len(body), size, link, info, 1, 0
                )
            )
            body += b"" if isinstance(content, int) else content
        ident = b"\x7fELF\x02\x01\x01" + bytes([self.osabi, 8]) + bytes(7)
        header = struct.pack(
            "<16sHHIQQQIHHHHHH",
            *(ident, self.file_type, self.machine, 1, 0, 0, 64 + len(body), self.flags),
            *(64, 56, 0, 64, len(rows), len(rows) - 1),
        )
        return header + body + b"".join(rows)


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
