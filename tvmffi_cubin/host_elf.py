"""Reads host ELF64 files, objects and shared objects, without loading them: notes, symbols.

The file is untrusted input, as `elf_file` has it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from .elf_file import NOBITS, SYMTAB, Content, ElfFile, SymbolRow
from .image_kind import ELF, EM_CUDA

__all__ = ["FileContent", "HostElf", "Note", "Symbol", "is_host_elf"]

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_NOTE = struct.Struct("<III")
_REL, _EXEC, _DYN = 1, 2, 3
_LOAD, _PT_NOTE = 1, 4
_SHT_NOTE = 7
_CUDA = EM_CUDA.to_bytes(2, "little")
# Each address is looked up in all of them; real files have a dozen.
_MOST_SEGMENTS = 100
_UNDEFINED, _FIRST_SPECIAL = 0, 0xFF00


class FileContent:
    """The content of a file, read piece by piece: images may take more than there is memory."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._size)
        pieces = []
        while start < stop:
            piece = os.pread(self._descriptor, min(stop - start, 1 << 30), start)
            if not piece:
                raise ValueError("the file became shorter while it was read")
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)


class Note(NamedTuple):
    """A note of this package's: its type, and where its content lies in the file."""

    type: int
    offset: int
    data: bytes


class Symbol(NamedTuple):
    """A symbol that the file defines."""

    name: str
    row: SymbolRow


def is_host_elf(head: bytes) -> bool:
    """Whether a file that begins so is an ELF file, and no device image."""
    return head.startswith(ELF) and len(head) >= 20 and head[18:20] != _CUDA


class HostElf:
    """An object or a shared object.

    Raises
    ------
    ValueError
        It is neither, not for a 64-bit little-endian machine, or damaged; the message says what.
    """

    def __init__(self, data: Content) -> None:
        head = data[: _HEADER.size]
        if not head.startswith(ELF) or head[18:20] == _CUDA:
            raise ValueError("it is no ELF object or shared object")
        if len(head) < _HEADER.size:
            raise ValueError(f"it is truncated: {len(head)} bytes are not even an ELF header")
        if head[4] != 2 or head[5] != 1:
            raise ValueError("it is an ELF file for a machine that is not 64-bit little-endian")
        header = _HEADER.unpack(head)
        self.data = data
        self.type: int = header[1]
        self.machine: int = header[2]
        if header[10] > _MOST_SEGMENTS:
            raise ValueError(f"corrupt ELF file: it has {header[10]} segments")
        if self.type not in (_REL, _EXEC, _DYN):
            raise ValueError(f"it is an ELF file of type {self.type}: no object, no shared object")
        self._segments_at: int = header[5]
        self._num_segments: int = header[10]
        self._has_sections = bool(header[6])

    @property
    def is_object(self) -> bool:
        """Whether it is an object, which is yet to be linked."""
        return self.type == _REL

    @cached_property
    def sections(self) -> ElfFile | None:
        """Its sections; None where they were stripped, as of a shared object they may be."""
        if not self._has_sections and not self.is_object:
            return None
        return ElfFile(self.data, what="ELF file")

    @cached_property
    def _segments(self) -> list[tuple[int, ...]]:
        size = self._num_segments * _SEGMENT.size
        table = self.data[self._segments_at : self._segments_at + size]
        if len(table) < size:
            raise ValueError("corrupt ELF file: its segments lie outside of it: it is truncated")
        return list(_SEGMENT.iter_unpack(table))

    def notes(self, owner: bytes) -> Iterator[Note]:
        """Yield the notes of an owner; of an object's the content is not relocated."""
        for offset, size in self._note_areas():
            yield from self._notes_in(offset, size, owner + b"\0")

    def _note_areas(self) -> list[tuple[int, int]]:
        if self.is_object:
            assert self.sections is not None
            rows = (row for row in self.sections.rows if row.type == _SHT_NOTE)
            areas = [(row.offset, row.size) for row in rows]
        else:
            areas = [(row[2], row[5]) for row in self._segments if row[0] == _PT_NOTE]
        # Segments of a crafted file may overlap.
        if sum(size for _, size in areas) > len(self.data):
            raise ValueError("corrupt ELF file: its notes are larger than itself: it is truncated")
        return areas

    def _notes_in(self, offset: int, size: int, owner: bytes) -> Iterator[Note]:
        area = self.data[offset : offset + size]
        if len(area) < size:
            raise ValueError("corrupt ELF file: its notes lie outside of it: it is truncated")
        at = 0
        while at + _NOTE.size <= size:
            name_size, data_size, kind = _NOTE.unpack_from(area, at)
            name_at = at + _NOTE.size
            data_at = name_at + (name_size + 3 & ~3)
            if data_at + data_size > size:
                raise ValueError("corrupt ELF file: a note is longer than all of them")
            if area[name_at : name_at + name_size] == owner:
                yield Note(kind, offset + data_at, area[data_at : data_at + data_size])
            at = data_at + (data_size + 3 & ~3)

    def address(self, offset: int) -> int:
        """Return the address at which a byte of a shared object is loaded; raises ValueError."""
        for row in self._segments:
            if row[0] == _LOAD and row[2] <= offset < row[2] + row[5]:
                return row[3] + offset - row[2]
        raise ValueError("corrupt ELF file: a note is in no segment")

    def place(self, address: int, size: int) -> int:
        """Return where in a shared object the bytes at an address lie; raises ValueError."""
        for row in self._segments:
            if row[0] == _LOAD and row[3] <= address and address + size <= row[3] + row[5]:
                place = row[2] + address - row[3]
                if place + size <= len(self.data):
                    return place
        raise ValueError("corrupt ELF file: an image lies outside of it: it is truncated")

    def undefined(self, *, having: bytes) -> Iterator[str]:
        """Yield the names that an object needs of others, of those that have these bytes in them.

        Raises
        ------
        ValueError
            It is corrupt.
        """
        file = self.sections
        if file is None or not any(row.type == SYMTAB for row in file.rows):
            return
        rows, strings = file.symbols()
        wanted = _offsets_before(strings, having)
        for row in rows:
            if row.section == _UNDEFINED and row.name in wanted:
                yield file.string(strings, row.name)

    def symbols(self, kind: int = SYMTAB, *, having: bytes = b"") -> Iterator[Symbol]:
        """Yield the symbols that the file defines; none where the table was stripped.

        With `having` those alone whose names have these bytes in them: of thousands a few.
        """
        file = self.sections
        if file is None or not any(row.type == kind for row in file.rows):
            return
        rows, strings = file.symbols(kind)
        if having:
            wanted = _offsets_before(strings, having)
            rows = (row for row in rows if row.name in wanted)
        for row in rows:
            if _UNDEFINED < row.section < min(len(file.rows), _FIRST_SPECIAL):
                yield Symbol(file.string(strings, row.name), row)

    def range_of(self, first: SymbolRow, end: SymbolRow) -> tuple[int, int]:
        """Return where in the file the bytes between two symbols lie, and how many there are.

        Raises
        ------
        ValueError
            They are not in one section, or there are no bytes.
        """
        assert self.sections is not None
        section = self.sections.rows[first.section]
        size = end.value - first.value
        if section.type == NOBITS or first.section != end.section or size < 0:
            raise ValueError("corrupt ELF file: an image ends elsewhere than it begins")
        if not self.is_object:
            return self.place(first.value, size), size
        if end.value > section.size or section.offset + end.value > len(self.data):
            raise ValueError("corrupt ELF file: an image lies outside of it: it is truncated")
        return section.offset + first.value, size


def _offsets_before(strings: bytes, part: bytes) -> set[int]:
    """Return where a name begins that has these bytes in it; names may be ends of longer ones."""
    offsets: set[int] = set()
    at = strings.find(part)
    while at >= 0:
        offsets.update(range(strings.rfind(b"\0", 0, at) + 1, at + 1))
        at = strings.find(part, at + 1)
    return offsets
