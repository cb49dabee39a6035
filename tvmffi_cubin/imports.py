"""`Imports`: what a shared object needs of others: their names, and symbols with versions."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from .elf_file import DYNSYM, Content, ElfFile, Section

__all__ = ["Import", "Imports"]

_DYNAMIC = struct.Struct("<qQ")
_VERNEED, _VERNAUX = struct.Struct("<HHIII"), struct.Struct("<IHHII")
_SHT_DYNAMIC, _SHT_VERNEED, _SHT_VERSYM = 6, 0x6FFFFFFE, 0x6FFFFFFF
# Libraries, and where they are looked for.
_TAGS = (1, 15, 29)
_WEAK = 2


class Import(NamedTuple):
    """A symbol that another object is to define; version and library are empty where unsaid."""

    name: str
    type: int
    binding: int
    version: str
    library: str

    @property
    def is_any(self) -> bool:
        """Whether it may be undefined, and may have any version."""
        return self.binding == _WEAK and not self.version


class Imports(NamedTuple):
    """What a shared object needs.

    Attributes
    ----------
    libraries : tuple
        Tags and texts of the dynamic section: libraries, and where they are looked for.
    symbols : frozenset of Import
        What of them.
    """

    libraries: tuple[tuple[int, str], ...]
    symbols: frozenset[Import]

    @classmethod
    def of(cls, data: Content) -> Imports:
        """Read a shared object.

        Raises
        ------
        ValueError, struct.error
            It is none, or damaged.
        """
        file = ElfFile(data, what="shared object")
        sections = {row.type: row for row in file.rows}
        rows, strings = file.symbols(DYNSYM)
        libraries = tuple(
            (tag, file.string(strings, value))
            for tag, value in file.table(_DYNAMIC, sections[_SHT_DYNAMIC], "its dynamic section")
            if tag in _TAGS
        )
        needed = dict(_versions(file, sections.get(_SHT_VERNEED), strings))
        numbers: list[int] = []
        if _SHT_VERSYM in sections:
            table = file.table(struct.Struct("<H"), sections[_SHT_VERSYM], "its versions")
            numbers = [number for (number,) in table]
        symbols = frozenset(
            Import(
                file.string(strings, row.name),
                row.type,
                row.binding,
                *needed.get(numbers[row.number] & 0x7FFF if numbers else 0, ("", "")),
            )
            for row in rows
            if row.section == 0 and row.name
        )
        return cls(libraries, symbols)


def _versions(
    file: ElfFile, section: Section | None, strings: bytes
) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the numbers of versions, each with version and library."""
    if section is None:
        return
    table = file.take(section.offset, section.size, "its needed versions")
    at, step = 0, 1
    while step:
        _, count, library, first, step = _VERNEED.unpack_from(table, at)
        place = at + first
        for _ in range(count):
            _, _, number, version, more = _VERNAUX.unpack_from(table, place)
            yield number, (file.string(strings, version), file.string(strings, library))
            place += more
        at += step
