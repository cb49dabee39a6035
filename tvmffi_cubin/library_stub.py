"""`LibraryFile`: a shared library as linkers see it, and that with fewer symbols: a stub of it.

A linker enters every symbol of a library that it is given, and libstdc++ has six thousand. A stub
is the same ELF file without contents and with some of the symbols; what is linked with it refers to
the library itself: by the name, and the symbols' versions, that both have.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator

from .computed import computed
from .image_kind import ELF

__all__ = ["LibraryFile", "archive_names"]

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_DYNAMIC = struct.Struct("<qQ")
_VERDEF, _VERDAUX = struct.Struct("<HHHHIII"), struct.Struct("<II")
_VERNEED, _VERNAUX = struct.Struct("<HHIII"), struct.Struct("<IHHII")
_TYPE_DYN = 3
# Types of sections.
_SHT_HASH, _SHT_DYNAMIC, _SHT_NOTE, _SHT_NOBITS, _SHT_DYNSYM = 5, 6, 7, 8, 11
_SHT_GNU_HASH, _SHT_VERDEF, _SHT_VERNEED, _SHT_VERSYM = (
    0x6FFFFFF6,
    0x6FFFFFFD,
    0x6FFFFFFE,
    0x6FFFFFFF,
)
# Entries of the dynamic section: those that are names, and how many versions there are.
_NAMES, _COUNTS = (1, 14), (0x6FFFFFFD, 0x6FFFFFFF)
_UNDEFINED, _HIDDEN_VERSION = 0, 0x8000
# Of the latter are the versions' own names.
_NOWHERE = (_UNDEFINED, 0xFFF1)
_OBJECT, _TLS = 1, 6
_ARCHIVE = b"!<arch>\n"


class LibraryFile:
    """A shared library's file.

    Raises
    ------
    ValueError
        It is no shared library of 64-bit little-endian code with versions, or damaged.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        if not data.startswith(ELF) or len(data) < _HEADER.size or data[4:6] != b"\2\1":
            raise ValueError("it is no ELF file for a 64-bit little-endian machine")
        self._header = _HEADER.unpack_from(data)
        table = data[self._header[6] :][: self._header[12] * _SECTION.size]
        self._sections = list(_SECTION.iter_unpack(table))
        self._numbers = {row[1]: number for number, row in enumerate(self._sections)}
        wanted = {_SHT_DYNSYM, _SHT_DYNAMIC, _SHT_VERSYM, _SHT_VERDEF}
        if self._header[1] != _TYPE_DYN or not wanted <= self._numbers.keys():
            raise ValueError("it is no shared library whose symbols have versions")

    def _body(self, number: int) -> bytes:
        row = self._sections[number]
        if row[4] + row[5] > len(self._data):
            raise ValueError("corrupt ELF file: a section lies outside of it")
        return self._data[row[4] : row[4] + row[5]]

    @computed
    def _strings(self) -> bytes:
        return self._body(self._sections[self._numbers[_SHT_DYNSYM]][6])

    def _name(self, offset: int) -> bytes:
        return self._strings[offset : self._strings.index(b"\0", offset)]

    @computed
    def _rows(self) -> list[tuple[bytes, tuple[int, ...], int]]:
        """The symbols: name, row, version."""
        rows = _SYMBOL.iter_unpack(self._body(self._numbers[_SHT_DYNSYM]))
        versions = struct.iter_unpack("<H", self._body(self._numbers[_SHT_VERSYM]))
        pairs = zip(rows, versions, strict=True)
        return [(self._name(row[0]), row, version) for row, (version,) in pairs]

    @computed
    def names(self) -> frozenset[str]:
        """The names of the symbols that something can be linked with: not those of old versions."""
        return frozenset(
            name.decode()
            for name, row, version in self._rows
            if row[3] not in _NOWHERE and 2 <= version < _HIDDEN_VERSION
        )

    @computed
    def thread_locals(self) -> frozenset[str]:
        """The names of the variables of which each thread has its own."""
        return frozenset(x.decode() for x, row, _ in self._rows if row[1] & 0xF == _TLS)

    def stub(self, wanted: Collection[str]) -> bytes:
        """Return the file with these symbols of `names` alone, and those that it needs."""
        kept = {name.encode() for name in wanted}
        # One variable may have several names, and linkers treat them as one.
        places = {row[4] for name, row, _ in self._rows if name in kept and row[1] & 0xF == _OBJECT}
        names = _Names()
        symbols, versions = [], []
        for number, (name, row, version) in enumerate(self._rows):
            is_default = 2 <= version < _HIDDEN_VERSION
            is_kept = is_default and (name in kept or _is_object_at(row, places))
            if number == 0 or row[3] == _UNDEFINED or is_kept:
                symbols.append(_SYMBOL.pack(names.add(name), *row[1:]))
                versions.append(version)
        numbers = self._numbers
        bodies = {
            numbers[_SHT_DYNSYM]: b"".join(symbols),
            numbers[_SHT_VERSYM]: struct.pack(f"<{len(versions)}H", *versions),
            numbers[_SHT_VERDEF]: self._renamed_versions(_SHT_VERDEF, names),
            numbers[_SHT_DYNAMIC]: self._renamed_dynamic(names),
        }
        if _SHT_VERNEED in numbers:
            bodies[numbers[_SHT_VERNEED]] = self._renamed_versions(_SHT_VERNEED, names)
        bodies[self._sections[numbers[_SHT_DYNSYM]][6]] = bytes(names.table)
        for number, row in enumerate(self._sections):
            if row[1] == _SHT_NOTE or number == self._header[13]:
                bodies[number] = self._body(number)
        return self._file(bodies)

    def _renamed_versions(self, kind: int, names: _Names) -> bytes:
        """Return a table of versions with the offsets of names in another table."""
        table = bytearray(self._body(self._numbers[kind]))
        at, step = 0, 1
        while step:
            if kind == _SHT_VERDEF:
                *_, count, _, first, step = _VERDEF.unpack_from(table, at)
                layout, where = _VERDAUX, 0
            else:
                _, count, file, first, step = _VERNEED.unpack_from(table, at)
                struct.pack_into("<I", table, at + 4, names.add(self._name(file)))
                layout, where = _VERNAUX, 8
            place = at + first
            for _ in range(count):
                *_, name, more = layout.unpack_from(table, place)
                struct.pack_into("<I", table, place + where, names.add(self._name(name)))
                place += more
            at += step
        return bytes(table)

    def _renamed_dynamic(self, names: _Names) -> bytes:
        entries = _DYNAMIC.iter_unpack(self._body(self._numbers[_SHT_DYNAMIC]))
        kept = [
            (tag, names.add(self._name(value)) if tag in _NAMES else value)
            for tag, value in entries
            if tag in _NAMES or tag in _COUNTS
        ]
        return b"".join(_DYNAMIC.pack(*entry) for entry in (*kept, (0, 0)))

    def _file(self, bodies: dict[int, bytes]) -> bytes:
        """Return the file with other contents of some sections, and none of the others."""
        made = bytearray(_HEADER.size)
        table = b""
        for number, row in enumerate(self._sections):
            fields = list(row)
            if number in bodies:
                made += bytes(-len(made) % 8)
                fields[4:6] = len(made), len(bodies[number])
                made += bodies[number]
            elif number:
                size = 0 if row[1] in (_SHT_HASH, _SHT_GNU_HASH) else row[5]
                fields[1], fields[4], fields[5] = _SHT_NOBITS, len(made), size
            table += _SECTION.pack(*fields)
        made += bytes(-len(made) % 8)
        header = list(self._header)
        # No segments: nothing can load it.
        header[5], header[6], header[10] = 0, len(made), 0
        made[: _HEADER.size] = _HEADER.pack(*header)
        return bytes(made) + table


class _Names:
    """A table of names that is being made."""

    def __init__(self) -> None:
        self.table = bytearray(1)
        self._offsets = {b"": 0}

    def add(self, name: bytes) -> int:
        """Return where a name is in the table."""
        if name not in self._offsets:
            self._offsets[name] = len(self.table)
            self.table += name + b"\0"
        return self._offsets[name]


def _is_object_at(row: tuple[int, ...], places: Collection[int]) -> bool:
    return row[1] & 0xF == _OBJECT and row[4] in places


def archive_names(data: bytes) -> Iterator[str]:
    """Yield the symbols that an archive's index names; none of what is no archive."""
    head = len(_ARCHIVE)
    if not data.startswith(_ARCHIVE) or data[head : head + 16].rstrip() != b"/":
        return
    at = head + 60
    (count,) = struct.unpack_from(">I", data, at)
    start = at + 4 + 4 * count
    end = at + int(data[head + 48 : head + 58])
    for name in data[start:end].split(b"\0")[:count]:
        yield name.decode("utf-8", "replace")
