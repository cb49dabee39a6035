"""`embed`: an image into an object file, for the code in it that declares it with EMBED_CUBIN.

No tool is needed for it, and what is there under the name already is replaced to the last byte.
"""

from __future__ import annotations

import platform
import struct
from dataclasses import dataclass

from .artifact import NOTE_IMAGE, NOTE_OWNER
from .device.image import Image
from .errors import ToolchainError
from .kernels.elf import Elf
from .kernels.image import ARCHIVE
from .object_file import LOCAL, MACHINES, NOTE, PROGBITS, RELA, ObjectFile, Section, Symbol

__all__ = ["embed", "machine_number"]

_WRITE, _ALLOC, _INFO_LINK, _LARGE_FLAG = 0x1, 0x2, 0x40, 0x10000000
_OBJECT, _GLOBAL, _HIDDEN = 1, 1, 2
# Above this, images go where the linker may put them beyond the reach of 32-bit relocations.
_LARGE = 1 << 30
_TABLE = 32
_RELOCATION = struct.Struct("<QIIq")
# Of each machine: a 64-bit address, and a 64-bit distance.
_RELOCATIONS = {62: (1, 24), 183: (257, 260)}
_INSTEAD = (
    (ARCHIVE, "a static library: take out the object (ar x), and put it back afterwards"),
    (b"!<thin>\n", "a thin archive: name the object itself"),
    (b"BC\xc0\xde", "LLVM bitcode: compile without -flto"),
)


def machine_number(name: str | None = None) -> int:
    """Return ELF's number of a processor, by default of this one; raises ToolchainError."""
    name = name or platform.machine()
    number = MACHINES.get(
        {"arm64": "aarch64", "AMD64": "x86_64", "amd64": "x86_64"}.get(name, name)
    )
    if number is None:
        raise ToolchainError(f"objects are made for {' and '.join(MACHINES)}, not for {name}")
    return number


@dataclass(frozen=True)
class _Names:
    """What the parts of an image are called in an object."""

    name: str

    @property
    def symbols(self) -> tuple[str, str, str]:
        """Of the first byte, of the one past the last, and of the table that leads to them."""
        data = f"__tvm_ffi__cubin_{self.name}"
        return data, f"{data}_end", f"__tvmffi_cubin_image_{self.name}"

    def section(self, kind: str) -> str:
        return f".{kind}.tvmffi_cubin.{self.name}"


def embed(data: bytes | None, image: Image, *, machine: int = 0) -> bytes:
    """Return an object with an image in it, in the place of one of that name.

    An image that the object's own code uses is seen by that code alone; two objects of one library
    may each have their own. One that it does not use can be used by all that it is linked with.

    Parameters
    ----------
    data : bytes or None
        The object; None for one that has nothing else in it.
    image : Image
        The image, under the name that the code declares.
    machine : int
        Without `data`, ELF's number of the processor that the object is for.

    Raises
    ------
    ValueError
        `data` is no object, or damaged; or it has an image of that name that others put there.
    """
    file = ObjectFile.empty(machine) if data is None else _read(data)
    names = _Names(image.name)
    content, texts = _content(image)
    holder = _put_content(file, names, content)
    table = _put(file, Section(names.section("data.rel.ro"), PROGBITS, _ALLOC | _WRITE, align=16))
    file.sections[table].data = bytes(_TABLE)
    note = _put(file, Section(names.section("note"), NOTE, _ALLOC, align=4))
    place, file.sections[note].data = _note(image)
    size = len(image.data)
    first = _define(file, names, ((holder, 0, size), (holder, size, 0), (table, 0, _TABLE)))
    file.order_symbols()
    address, distance = _RELOCATIONS[file.machine]
    targets = enumerate((0, size, *texts))
    _relocate(file, table, first, [(8 * i, address, target) for i, target in targets])
    _relocate(file, note, first, [(place, distance, 0)])
    return file.write()


def _read(data: bytes) -> ObjectFile:
    for magic, what in _INSTEAD:
        if data.startswith(magic):
            raise ValueError(f"it is {what}")
    try:
        found = Elf(data)
        if found.machine not in _RELOCATIONS:
            raise ValueError(f"it is for the machine {found.machine}, not {' or '.join(MACHINES)}")
        if not found.is_object:
            raise ValueError("it is linked already: embed into the object, before it is linked")
        file = ObjectFile.read(data)
    except struct.error as error:
        raise ValueError(f"corrupt object: {error}") from None
    if any(section.name.startswith(".gnu.lto_") for section in file.sections):
        raise ValueError("it was compiled with -flto, and is no machine code: compile it without")
    return file


def _content(image: Image) -> tuple[bytes, tuple[int, int]]:
    """Return the image with what messages say of it behind it, and where that lies."""
    arch = image.cubin.arch.encode() + b"\0"
    version = image.cubin.cuda_version.encode() + b"\0"
    # PTX ends with a NUL.
    at = len(image.data) + 1
    return b"".join((image.data, b"\0", arch, version)), (at, at + len(arch))


def _note(image: Image) -> tuple[int, bytes]:
    """Return where in the note the distance of the image is, and the note."""
    owner = NOTE_OWNER + b"\0"
    body = struct.pack("<qQ", 0, len(image.data)) + image.name.encode() + b"\0"
    head = struct.pack("<III", len(owner), len(body), NOTE_IMAGE) + owner
    head += bytes(-len(head) % 4)
    return len(head), head + body + bytes(-len(body) % 4)


def _put_content(file: ObjectFile, names: _Names, content: bytes) -> int:
    kinds = ["rodata", "lrodata"]
    flags = _ALLOC
    if len(content) > _LARGE and file.machine == MACHINES["x86_64"]:
        kinds.reverse()
        flags |= _LARGE_FLAG
    homes = [file.section(names.section(kind)) for kind in kinds]
    for symbol in names.symbols:
        _refuse_others(file, names, symbol)
    if homes[0] is None and homes[1] is not None:
        file.sections[homes[1]].rename(names.section(kinds[0]))
    number = _put(file, Section(names.section(kinds[0]), PROGBITS, flags, align=64))
    file.sections[number].data = content
    return number


def _refuse_others(file: ObjectFile, names: _Names, name: str) -> None:
    """Refuse an image that is not in sections of its own, where it could be replaced."""
    own = {names.section(kind) for kind in ("rodata", "lrodata", "data.rel.ro")}
    defined = [symbol for symbol in file.named(name) if symbol.section]
    if len(defined) > 1:
        raise ValueError(f"it has several images {names.name!r}, of objects that became this one")
    for symbol in defined:
        if symbol.section >= len(file.sections) or file.sections[symbol.section].name not in own:
            raise ValueError(
                f"it defines {name} already, and not as this command does: embed into the object "
                "as the compiler made it"
            )


def _put(file: ObjectFile, section: Section) -> int:
    """Add a section, or take the one that has its name; return its number."""
    number = file.section(section.name)
    if number is None:
        file.sections.append(section)
        return len(file.sections) - 1
    found = file.sections[number]
    found.type, found.flags, found.align = section.type, section.flags, section.align
    return number


def _define(file: ObjectFile, names: _Names, places: tuple[tuple[int, int, int], ...]) -> Symbol:
    """Define the image's symbols by section, value and size; return that of the first byte."""
    found = [next(iter(file.named(name)), None) for name in names.symbols]
    is_used = any(symbol is not None and not symbol.section for symbol in found)
    defined = next((symbol for symbol in found if symbol is not None and symbol.section), None)
    binding = LOCAL if is_used else _GLOBAL if defined is None else defined.binding
    made = []
    for name, symbol, (section, value, size) in zip(names.symbols, found, places, strict=True):
        if symbol is None:
            symbol = file.add_symbol(Symbol(name, 0, 0, 0, 0, 0))
        symbol.info = binding << 4 | _OBJECT
        symbol.other = 0 if binding == LOCAL else _HIDDEN
        symbol.section, symbol.value, symbol.size = section, value, size
        made.append(symbol)
    return made[0]


def _relocate(
    file: ObjectFile, number: int, symbol: Symbol, rows: list[tuple[int, int, int]]
) -> None:
    """Say what a section's words are: for each its offset, a kind, and what is added."""
    name = f".rela{file.sections[number].name}"
    made = _put(file, Section(name, RELA, _INFO_LINK, align=8, entry_size=_RELOCATION.size))
    section = file.sections[made]
    section.link, section.info = file.symbol_table, number
    section.data = b"".join(
        _RELOCATION.pack(offset, kind, symbol.number, addend) for offset, kind, addend in rows
    )
