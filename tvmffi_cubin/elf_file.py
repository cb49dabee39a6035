"""Reads the frame of NVIDIA device images (cubin ELF64): header, sections, symbols.

The image is untrusted input: every offset is checked against its size, and the bytes read in all
are bounded, so that a crafted image costs no more than a large honest one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["NOBITS", "ElfFile", "Section", "SymbolRow"]

NOBITS = 8
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMTAB = 2


class Section(NamedTuple):
    """A row of the section table."""

    type: int
    offset: int
    size: int
    link: int
    info: int


class SymbolRow(NamedTuple):
    """A row of the symbol table; its name is an offset into the names, see `ElfFile.symbols`."""

    number: int
    name: int
    type: int
    binding: int
    other: int
    section: int
    size: int


class ElfFile:
    """An image's sections and symbols; only bytes whose place was checked are ever read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        # Sections may overlap in a crafted image; without a budget a small file could ask for
        # quadratic work.
        self.budget = 16 * len(data) + 65536
        header = _HEADER.unpack_from(data)
        self.osabi: int = header[0][7]
        self.relocatable: bool = header[1] == 1
        self.flags: int = header[7]
        self.sections = self._sections(header[6], header[12], header[13])

    def take(self, offset: int, size: int, what: str) -> bytes:
        """Return bytes of the image.

        Raises
        ------
        ValueError
            They lie outside of it, or too many were read by now; `what` names them.
        """
        if offset + size > len(self.data):
            end = offset + size
            raise ValueError(
                f"corrupt cubin: {what} ends at byte {end}, but the image has {len(self.data)}: "
                "it is truncated or damaged"
            )
        self.budget -= size
        if self.budget < 0:
            raise ValueError("corrupt cubin: its sections overlap")
        return self.data[offset : offset + size]

    def table(self, layout: struct.Struct, section: Section, what: str) -> Iterator[Any]:
        """Return the rows of a section that is a table."""
        size = section.size - section.size % layout.size
        return layout.iter_unpack(self.take(section.offset, size, what))

    def string(self, table: bytes, offset: int) -> str:
        """Return the name at an offset of a table of names."""
        end = table.find(b"\0", offset)
        if offset > len(table) or end < 0:
            raise ValueError("corrupt cubin: a name lies outside its string table")
        self.budget -= end - offset
        if self.budget < 0:
            raise ValueError("corrupt cubin: its names overlap")
        return table[offset:end].decode("utf-8", "replace")

    def _sections(self, offset: int, count: int, names: int) -> dict[str, Section]:
        first = self.take(offset, _SECTION.size, "the section table")
        # More than 65,279 sections: the counts are in the first entry (ELF's own extension).
        zero = _SECTION.unpack(first)
        count = count or zero[5]
        names = zero[6] if names == 0xFFFF else names
        rows = list(_SECTION.iter_unpack(self.take(offset, count * 64, "the section table")))
        if names >= len(rows):
            raise ValueError("corrupt cubin: it has no section names")
        strings = self.take(rows[names][4], rows[names][5], "the section names")
        self.rows = [Section(row[1], row[4], row[5], row[6], row[7]) for row in rows]
        table: dict[str, Section] = {}
        for row, section in zip(rows, self.rows, strict=True):
            table.setdefault(self.string(strings, row[0]), section)
        return table

    def body(self, name: str) -> bytes:
        """Return a section's bytes, none where there is no such section."""
        section = self.sections.get(name)
        if section is None or section.type == NOBITS:
            return b""
        return self.take(section.offset, section.size, f"section {name}")

    def symbols(self) -> tuple[Iterator[SymbolRow], bytes]:
        """Return the rows of the symbol table, and the table of their names for `string`."""
        table = next((section for section in self.rows if section.type == _SYMTAB), None)
        if table is None:
            raise ValueError("corrupt cubin: it has no symbol table")
        if table.link >= len(self.rows):
            raise ValueError("corrupt cubin: its symbol table has no names")
        strtab = self.rows[table.link]
        strings = self.take(strtab.offset, strtab.size, "the string table")
        rows = self.table(_SYMBOL, table, "the symbol table")
        found = (
            SymbolRow(index, name, info & 0xF, info >> 4, other, section, size)
            for index, (name, info, other, section, _, size) in enumerate(rows)
        )
        return found, strings
