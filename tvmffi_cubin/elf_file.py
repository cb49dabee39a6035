"""Reads the frame of ELF64 files, device images (cubins) and host ones: header, sections, symbols.

The file is untrusted input: every offset is checked against its size, and the bytes read in all
are bounded, so that a crafted file costs no more than a large honest one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

__all__ = ["DYNSYM", "NOBITS", "SYMTAB", "Content", "ElfFile", "Section", "SymbolRow"]

NOBITS = 8
SYMTAB = 2
DYNSYM = 11
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


class Content(Protocol):
    """The bytes of a file, in memory or read as they are asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> bytes: ...


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
    value: int


class ElfFile:
    """A file's sections and symbols; only bytes whose place was checked are ever read.

    Parameters
    ----------
    data : Content
        The file.
    what : str
        What messages call it.
    """

    def __init__(self, data: Content, *, what: str = "cubin") -> None:
        self.data = data
        self.what = what
        # Sections may overlap in a crafted image; without a budget a small file could ask for
        # quadratic work.
        self.budget = 16 * len(data) + 65536
        header = _HEADER.unpack(data[: _HEADER.size])
        self.osabi: int = header[0][7]
        self.relocatable: bool = header[1] == 1
        self.flags: int = header[7]
        self.sections = self._sections(header[6], header[12], header[13])

    def check_inside(self, offset: int, size: int, what: str) -> None:
        """Raise ValueError where bytes lie outside of the image; `what` names them."""
        if offset + size > len(self.data):
            raise ValueError(
                f"corrupt {self.what}: {what} ends at byte {offset + size}, but the image has "
                f"{len(self.data)}: it is truncated or damaged"
            )

    def take(self, offset: int, size: int, what: str) -> bytes:
        """Return bytes of the image.

        Raises
        ------
        ValueError
            They lie outside of it, or too many were read by now; `what` names them.
        """
        self.check_inside(offset, size, what)
        self.budget -= size
        if self.budget < 0:
            raise ValueError(f"corrupt {self.what}: its sections overlap")
        return self.data[offset : offset + size]

    def table(self, layout: struct.Struct, section: Section, what: str) -> Iterator[Any]:
        """Return the rows of a section that is a table."""
        size = section.size - section.size % layout.size
        return layout.iter_unpack(self.take(section.offset, size, what))

    def string(self, table: bytes, offset: int) -> str:
        """Return the name at an offset of a table of names."""
        end = table.find(b"\0", offset)
        if offset > len(table) or end < 0:
            raise ValueError(f"corrupt {self.what}: a name lies outside its string table")
        self.budget -= end - offset
        if self.budget < 0:
            raise ValueError(f"corrupt {self.what}: its names overlap")
        return table[offset:end].decode("utf-8", "replace")

    def _sections(self, offset: int, count: int, names: int) -> dict[str, Section]:
        first = self.take(offset, _SECTION.size, "the section table")
        # More than 65,279 sections: the counts are in the first entry (ELF's own extension).
        zero = _SECTION.unpack(first)
        count = count or zero[5]
        names = zero[6] if names == 0xFFFF else names
        rows = list(_SECTION.iter_unpack(self.take(offset, count * 64, "the section table")))
        if names >= len(rows):
            raise ValueError(f"corrupt {self.what}: it has no section names")
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

    def symbols(self, kind: int = SYMTAB) -> tuple[Iterator[SymbolRow], bytes]:
        """Return the rows of the symbol table, and the table of their names for `string`."""
        table = next((section for section in self.rows if section.type == kind), None)
        if table is None:
            raise ValueError(f"corrupt {self.what}: it has no symbol table")
        if table.link >= len(self.rows):
            raise ValueError(f"corrupt {self.what}: its symbol table has no names")
        strtab = self.rows[table.link]
        strings = self.take(strtab.offset, strtab.size, "the string table")
        rows = self.table(_SYMBOL, table, "the symbol table")
        found = (
            SymbolRow(index, name, info & 0xF, info >> 4, other, section, size, value)
            for index, (name, info, other, section, value, size) in enumerate(rows)
        )
        return found, strings
