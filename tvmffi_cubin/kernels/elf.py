"""`Elf`: sections, symbols and notes of a 64-bit little-endian ELF file, for device or host."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import mmap
from typing import NamedTuple

from ..errors import ImageError

ELF = b"\x7fELF"  # the magic number
_EM_CUDA = b"\xbe\0"  # the machine of a cubin
SYMTAB, _NOTE, _NOBITS, DYNSYM = 2, 7, 8, 11  # section types
GLOBAL = 1  # the binding of symbols that only one file may define

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NOTE_HEAD = struct.Struct("<III")


@contextmanager
def reading() -> Iterator[None]:
    """Turn a reader's errors on damaged bytes into an `ImageError`; also a decorator."""
    try:
        yield
    except (struct.error, LookupError, ArithmeticError, MemoryError) as error:
        raise ImageError(f"truncated or damaged ({error})") from None


def is_host_elf(head: bytes) -> bool:
    """Return whether `head` starts an ELF file that is not a device image."""
    return head.startswith(ELF) and head[18:20] != _EM_CUDA


class Section(NamedTuple):
    """A row of the section table."""

    name: str
    type: int
    address: int
    offset: int
    size: int
    link: int


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
        """Whether another file must define it."""
        return self.section == 0

    @property
    def is_placed(self) -> bool:
        """Whether it is defined in a section of this file, not in a reserved one."""
        return 0 < self.section < 0xFF00


class Elf:
    """An ELF file; a truncated one is rejected, since a driver would read past its end."""

    @reading()
    def __init__(self, data: bytes | mmap) -> None:
        self.data = data
        header = _HEADER.unpack_from(data)
        self.ident, kind, self.machine, _, _, segments, table, self.flags = header[:8]
        if not self.ident.startswith(ELF + b"\2\1"):
            raise ImageError("not a 64-bit ELF object or shared object")
        self.is_object = kind == 1  # not linked yet
        end = table + header[12] * _SECTION.size
        # The tables come last: if they are complete, so is everything they refer to.
        if max(end, segments + header[9] * header[10]) > len(data):
            raise ImageError(f"truncated or damaged: it has {len(data)} bytes")
        rows = list(_SECTION.iter_unpack(data[table:end]))
        names = rows[header[13]][4]
        self.sections = [Section(_name(data, names + x[0]), x[1], *x[3:7]) for x in rows]
        self.named = {section.name: section for section in reversed(self.sections)}

    def body(self, section: Section | None) -> bytes:
        """Return a section's bytes; empty if it is missing or takes no space in the file."""
        if section is None or section.type == _NOBITS:
            return b""
        return self.data[section.offset : section.offset + section.size]

    @reading()
    def symbols(self, kind: int = SYMTAB, *, having: str = "") -> list[Symbol]:
        """Return the symbols of a table whose names contain `having`."""
        found = []
        for table in (section for section in self.sections if section.type == kind):
            names = self.sections[table.link].offset
            for number, row in enumerate(_SYMBOL.iter_unpack(self.body(table))):
                at, info, other, *rest = row
                if having in (name := _name(self.data, names + at)):
                    found.append(Symbol(number, name, info & 15, info >> 4, other, *rest))
        return found

    def notes(self, owner: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yield type, address and content of an owner's notes, unrelocated in an object file."""
        for section in (section for section in self.sections if section.type == _NOTE):
            body, at = self.body(section), 0
            while at + _NOTE_HEAD.size <= len(body):
                name_size, size, kind = _NOTE_HEAD.unpack_from(body, at)
                name = at + _NOTE_HEAD.size
                start = name + (name_size + 3 & ~3)
                if body[name : name + name_size] == owner + b"\0":
                    yield kind, section.address + start, body[start : start + size]
                at = start + (size + 3 & ~3)

    def place_of_address(self, address: int, size: int) -> int:
        """Return the file offset of the bytes at an address of a shared object."""
        for section in self.sections:
            start = address - section.address
            if section.address and section.type != _NOBITS and 0 <= start <= section.size - size:
                return section.offset + start
        raise ImageError("truncated or damaged: an image is in no section")

    def place_between(self, first: Symbol, end: Symbol) -> tuple[int, int]:
        """Return the file offset and the number of the bytes between two symbols."""
        section = self.sections[first.section]
        # An object's sections have no addresses yet.
        return section.offset + first.value - section.address, end.value - first.value


def _name(data: bytes | mmap, at: int) -> str:
    return data[at : data.find(b"\0", at)].decode("utf-8", "replace")
