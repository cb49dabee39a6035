"""`Elf`: sections, symbols and notes of a 64-bit little-endian ELF file, device image or host's."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, Protocol

from ..errors import ImageError
from .image import ELF, reading

RELOCATABLE = 1
"""The type of an object, which is yet to be linked."""

# Types of sections.
SYMTAB, NOTE, NOBITS, DYNSYM = 2, 7, 8, 11
LOCAL, GLOBAL, WEAK = 0, 1, 2
"""Bindings of symbols."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NOTE = struct.Struct("<III")
_UNDEFINED, _FIRST_SPECIAL = 0, 0xFF00


class Content(Protocol):
    """The bytes of a file, in memory or read as they are asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> bytes: ...


class FileContent:
    """The content of an open file, read piece by piece: images may take more than the memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._size)
        self._file.seek(start)
        return self._file.read(max(0, stop - start))


class Section(NamedTuple):
    """A row of the section table."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


class Symbol(NamedTuple):
    """A row of a symbol table."""

    number: int
    name: str
    type: int
    binding: int
    other: int
    section: int
    value: int
    size: int

    @property
    def is_undefined(self) -> bool:
        """Whether another file is to define it."""
        return self.section == _UNDEFINED

    @property
    def is_placed(self) -> bool:
        """Whether it is defined in a section of this file."""
        return _UNDEFINED < self.section < _FIRST_SPECIAL


class Note(NamedTuple):
    """A note: its type, the address of its content (0-based in an object), the content."""

    type: int
    address: int
    data: bytes


class Elf:
    """An ELF file, which messages call `what`; damage is an ImageError, of the methods too."""

    def __init__(self, data: Content, what: str = "ELF file") -> None:
        self.data = data
        self.what = what
        head = data[: _HEADER.size]
        if not head.startswith(ELF):
            raise ImageError("it is no ELF object or shared object")
        if len(head) < _HEADER.size:
            raise ImageError(f"it is truncated: {len(head)} bytes are not even an ELF header")
        if head[4] != 2 or head[5] != 1:
            raise ImageError("it is an ELF file for a machine that is not 64-bit little-endian")
        (
            self.ident, self.type, self.machine, _, _, self._segments_at, table, self.flags,
            _, _, self._num_segments, _, count, self.name_section,
        ) = _HEADER.unpack(head)  # fmt: skip
        with reading(what):
            self.sections = self._read_sections(table, count) if table else []
        self._by_name = {section.name: section for section in reversed(self.sections)}

    @property
    def is_object(self) -> bool:
        """Whether it is yet to be linked."""
        return bool(self.type == RELOCATABLE)

    def read(self, offset: int, size: int, part: str) -> bytes:
        """Return bytes of the file; `part` is what messages call them."""
        self.check_inside(offset, size, part)
        return self.data[offset : offset + size]

    def check_inside(self, offset: int, size: int, part: str) -> None:
        """Refuse a part that ends beyond the file."""
        if offset + size > len(self.data):
            raise ImageError(
                f"corrupt {self.what}: {part} ends at byte {offset + size}, but it has "
                f"{len(self.data)}: it is truncated or damaged"
            )

    def _read_sections(self, offset: int, count: int) -> list[Section]:
        zero = _SECTION.unpack(self.read(offset, _SECTION.size, "the section table"))
        # More than 65,279 sections: the first entry has the numbers.
        count = count or zero[5]
        self.name_section = zero[6] if self.name_section == 0xFFFF else self.name_section
        table = self.read(offset, count * _SECTION.size, "the section table")
        rows = list(_SECTION.iter_unpack(table))
        names = rows[self.name_section]
        strings = self.read(names[4], names[5], "the section names")
        return [
            Section(self._name(strings, row[0]).decode("utf-8", "replace"), *row[1:])
            for row in rows
        ]

    def _name(self, strings: bytes, offset: int) -> bytes:
        end = strings.find(b"\0", offset)
        if end < 0:
            raise ImageError(f"corrupt {self.what}: a name lies outside its string table")
        return strings[offset:end]

    def section(self, name: str) -> Section | None:
        """Return the first section of a name."""
        return self._by_name.get(name)

    def body(self, section: Section | None) -> bytes:
        """Return a section's bytes, none where it takes no room in the file or is not there."""
        if section is None or section.type == NOBITS:
            return b""
        return self.read(section.offset, section.size, f"section {section.name}")

    def segments(self) -> Iterator[tuple[int, int]]:
        """Yield offset and size of each segment."""
        size = self._num_segments * _SEGMENT.size
        for row in _SEGMENT.iter_unpack(self.read(self._segments_at, size, "the segment table")):
            yield row[2], row[5]

    def symbols(self, kind: int = SYMTAB, *, having: bytes = b"") -> list[Symbol]:
        """Return the symbols of a table, none where it was stripped.

        With `having` those alone whose names have these bytes in them: of thousands a few.
        """
        found = []
        with reading(self.what):
            for table in (section for section in self.sections if section.type == kind):
                strings = self.body(self.sections[table.link])
                rows = _SYMBOL.iter_unpack(self.body(table))
                for number, (at, info, other, section, value, size) in enumerate(rows):
                    name = self._name(strings, at)
                    if having in name:
                        kinds = (info & 15, info >> 4, other)
                        found.append(
                            Symbol(
                                number,
                                name.decode("utf-8", "replace"),
                                *kinds,
                                section,
                                value,
                                size,
                            )
                        )
        return found

    def notes(self, owner: bytes) -> list[Note]:
        """Return the notes of an owner; of an object's the content is not relocated."""
        found = []
        for section in (section for section in self.sections if section.type == NOTE):
            body = self.body(section)
            at = 0
            while at + _NOTE.size <= len(body):
                name_size, size, kind = _NOTE.unpack_from(body, at)
                name = at + _NOTE.size
                start = name + (name_size + 3 & ~3)
                if start + size > len(body):
                    raise ImageError(f"corrupt {self.what}: a note is longer than its section")
                if body[name : name + name_size] == owner + b"\0":
                    found.append(Note(kind, section.address + start, body[start : start + size]))
                at = start + (size + 3 & ~3)
        return found

    def place_of_address(self, address: int, size: int) -> int:
        """Return where in the file of a shared object the bytes at an address lie."""
        for section in self.sections:
            start = address - section.address
            if section.address and section.type != NOBITS and 0 <= start <= section.size - size:
                self.check_inside(section.offset + start, size, "an image")
                return section.offset + start
        raise ImageError(f"corrupt {self.what}: an image lies in no section")

    def place_between(self, first: Symbol, end: Symbol) -> tuple[int, int]:
        """Return where in the file the bytes between two symbols lie, and how many there are."""
        with reading(self.what):
            section = self.sections[first.section]
        size, start = end.value - first.value, first.value
        if not self.is_object:
            start -= section.address
        if first.section != end.section or section.type == NOBITS or not 0 <= size <= section.size:
            raise ImageError(f"corrupt {self.what}: an image ends elsewhere than it begins")
        self.check_inside(section.offset + start, size, "an image")
        return section.offset + start, size
