"""`ObjectFile`: a relocatable ELF64 file that sections and symbols are added to, and written again.

Sections keep their numbers. Symbols do not, since local ones have to come first: what refers to
them by number is changed with them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from .kernels.elf import LOCAL, NOBITS, NOTE, SYMTAB, Elf

__all__ = ["LOCAL", "MACHINES", "NOTE", "PROGBITS", "RELA", "ObjectFile", "Section", "Symbol"]

MACHINES = {"x86_64": 62, "aarch64": 183}
"""ELF's numbers of the processors whose objects can be written."""

PROGBITS, STRTAB, RELA, REL, GROUP, SYMTAB_SHNDX = 1, 3, 4, 9, 17, 18
_ADDRSIG = 0x6FFF4C03
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
# From this number on, sections are counted in other places.
_MOST_SECTIONS = 0xFF00
# What an object of a compiler has at most; a crafted one must not ask for any amount of padding.
_MOST_ALIGNED, _MOST_PADDING = 1 << 24, 1 << 30


@dataclass
class Section:
    """One section; `data` has the bytes, none where it takes none in the file.

    `name_at` is where its name is in the table of names, below 0 where it is not there yet.
    """

    name: str
    type: int
    flags: int = 0
    data: bytes = b""
    size: int = 0
    link: int = 0
    info: int = 0
    align: int = 1
    entry_size: int = 0
    name_at: int = -1

    def rename(self, name: str) -> None:
        """Give it another name."""
        self.name, self.name_at = name, -1


@dataclass
class Symbol:
    """One symbol; section 0 where it is not defined here. `name_at` as of a section."""

    name: str
    info: int
    other: int
    section: int
    value: int
    size: int
    number: int = -1
    name_at: int = -1

    @property
    def binding(self) -> int:
        """Local, global or weak."""
        return self.info >> 4


@dataclass
class ObjectFile:
    """An object's content.

    Attributes
    ----------
    machine, flags, ident
        Of its header.
    sections, symbols
        In order; the first of each is empty.
    """

    machine: int
    flags: int
    ident: bytes
    names: int
    sections: list[Section] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)

    @classmethod
    def empty(cls, machine: int) -> ObjectFile:
        """Return an object with nothing in it."""
        ident = b"\x7fELF\x02\x01\x01" + bytes(9)
        sections = [
            Section("", 0, align=0),
            Section(".symtab", SYMTAB, link=2, align=8, entry_size=_SYMBOL.size),
            Section(".strtab", STRTAB, data=b"\0"),
            Section(".note.GNU-stack", PROGBITS),
        ]
        return cls(machine, 0, ident, 2, sections, [Symbol("", 0, 0, 0, 0, 0, number=0)])

    @classmethod
    def read(cls, data: bytes) -> ObjectFile:
        """Read an object.

        Raises
        ------
        ValueError
            It is damaged, or has more sections than are handled here.
        """
        file = Elf(data)
        if not 0 < len(file.sections) < _MOST_SECTIONS:
            raise ValueError(f"it has no sections, or more than {_MOST_SECTIONS - 1}")
        made = cls(file.machine, file.flags, file.ident, file.name_section)
        for row in file.sections:
            name, kind, flags, _, _, size, link, info, align, entry_size = row
            if align > _MOST_ALIGNED:
                raise ValueError(f"corrupt object: section {name!r} is aligned to {align}")
            held = b"" if kind == 0 else file.body(row)
            made.sections.append(
                Section(name, kind, flags, held, size, link, info, align, entry_size)
            )
        if sum(section.align for section in made.sections if section.data) > _MOST_PADDING:
            raise ValueError("corrupt object: its sections are aligned too far apart")
        made._read_symbols(file)
        return made

    def _read_symbols(self, file: Elf) -> None:
        tables = [section for section in self.sections if section.type == SYMTAB]
        if len(tables) != 1 or any(section.type == SYMTAB_SHNDX for section in self.sections):
            raise ValueError("it has no symbol table, or one of a kind that is not handled")
        for row in file.symbols():
            if row.is_placed and row.section >= len(self.sections):
                raise ValueError(f"corrupt object: symbol {row.name!r} is in section {row.section}")
            info = row.binding << 4 | row.type
            self.symbols.append(
                Symbol(row.name, info, row.other, row.section, row.value, row.size, row.number)
            )

    def section(self, name: str) -> int | None:
        """Return the number of the first section of a name."""
        numbers = (i for i, section in enumerate(self.sections) if section.name == name)
        return next(numbers, None)

    def named(self, name: str) -> list[Symbol]:
        """Return the symbols of a name."""
        return [symbol for symbol in self.symbols if symbol.name == name]

    def add_symbol(self, symbol: Symbol) -> Symbol:
        """Add a symbol; only `write` gives it its number."""
        self.symbols.append(symbol)
        return symbol

    @property
    def symbol_table(self) -> int:
        """The number of the section with the symbols."""
        return next(i for i, section in enumerate(self.sections) if section.type == SYMTAB)

    def order_symbols(self) -> None:
        """Put local symbols first, as they have to be, and give all their numbers.

        Raises
        ------
        ValueError
            Something refers to a symbol that there is none.
        """
        self.symbols.sort(key=lambda symbol: symbol.binding != LOCAL)
        moved = {symbol.number: i for i, symbol in enumerate(self.symbols) if symbol.number >= 0}
        for number, symbol in enumerate(self.symbols):
            symbol.number = number
        if all(old == new for old, new in moved.items()):
            return
        table = self.symbol_table
        try:
            for section in self.sections:
                if section.link == table:
                    _renumber(section, moved)
        except (KeyError, struct.error) as error:
            raise ValueError(f"corrupt object: no symbol has the number {error}") from None

    def write(self) -> bytes:
        """Return the file; the symbols are in order by then."""
        symbols = self.sections[self.symbol_table]
        strings = self.sections[symbols.link]
        names = self.sections[self.names]
        strings.data = names.data = b""
        strings.data = _with_names(strings.data, self.symbols)
        symbols.info = sum(symbol.binding == LOCAL for symbol in self.symbols)
        symbols.data = b"".join(
            _SYMBOL.pack(x.name_at, x.info, x.other, x.section, x.value, x.size)
            for x in self.symbols
        )
        # One table of names may serve both.
        names.data = _with_names(names.data, self.sections)
        return self._laid_out()

    def _laid_out(self) -> bytes:
        parts, rows, at = [bytes(_HEADER.size)], [], _HEADER.size
        for section in self.sections:
            padding = -at % max(section.align, 1) if section.data else 0
            parts += [bytes(padding), section.data]
            at += padding
            size = len(section.data) if section.type not in (NOBITS, 0) else section.size
            rows.append(
                _SECTION.pack(
                    section.name_at, section.type, section.flags, 0, at if section.type else 0,
                    size,
                    section.link, section.info, section.align, section.entry_size,
                )
            )  # fmt: skip
            at += len(section.data)
        padding = -at % 8
        header = _HEADER.pack(
            self.ident, 1, self.machine, 1, 0, 0, at + padding, self.flags, _HEADER.size, 0, 0,
            _SECTION.size, len(rows), self.names,
        )  # fmt: skip
        return b"".join((header, *parts[1:], bytes(padding), *rows))


def _renumber(section: Section, moved: dict[int, int]) -> None:
    if section.type == GROUP:
        section.info = moved[section.info]
    elif section.type == _ADDRSIG:
        section.link = 0  # without which linkers take every address to matter
    elif section.type in (RELA, REL):
        size = 24 if section.type == RELA else 16
        data = bytearray(section.data)
        for at in range(8, len(data) // size * size, size):
            kind, number = struct.unpack_from("<II", data, at)
            struct.pack_into("<II", data, at, kind, moved[number])
        section.data = bytes(data)
    else:
        raise ValueError(
            f"its section {section.name} is of a kind ({section.type:#x}) that is not handled"
        )


def _with_names(table: bytes, named: Sequence[Section | Symbol]) -> bytes:
    """Return a table of names with those that it lacks, and say where they are."""
    strings = bytearray(table or b"\0")
    for item in named:
        if item.name_at < 0:
            item.name_at = len(strings) if item.name else 0
            strings += item.name.encode() + b"\0" if item.name else b""
    return bytes(strings)
