"""Reads NVIDIA device images (cubin ELF64): kernels, parameters, resources, architecture."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from .cubin import Kernel, Parameter
from .elf_file import NOBITS, ElfFile
from .image_kind import describe

__all__ = ["ParsedImage", "parse"]

_ITEM = struct.Struct("<BBH")
_SEGMENTS = struct.Struct("<32xQ16xH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
# Section types from here on are CUDA's own; some stand for memory, of which no bytes are there.
_CUDA_TYPES = 0x70000000

_STT_FUNC, _STO_CUDA_ENTRY = 2, 0x10
_OSABI_CUDA13 = 0x41

# EIATTR_*: the attributes of .nv.info and .nv.info.<kernel>.
_MAX_THREADS, _REQNTID = 0x05, 0x10
_FRAME_SIZE, _MIN_STACK_SIZE, _REGCOUNT = 0x11, 0x12, 0x2F
_KPARAM_INFO, _KPARAM_INFO_V2 = 0x17, 0x45
_CTA_PER_CLUSTER, _EXPLICIT_CLUSTER, _BLOCKS_ARE_CLUSTERS = 0x3D, 0x3E, 0x5B
# EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET, in .nv.compat.
_ACCELERATOR_TARGET = 0x09
_FORMAT_SIZED = 4
_UNBOUNDED_STACK = 0xFFFFFFFF

# From sm_90 on the system reserves the first bytes of each block's shared memory, and the
# section's size counts them.
_RESERVED_SMEM = 1024
_FAMILY = re.compile(rb"\bsm_(\d+)f\b")


@dataclass(frozen=True)
class ParsedImage:
    """What an image says of itself.

    Attributes
    ----------
    arch : str
        Architecture, such as ``"sm_90a"``.
    kernels : tuple of Kernel
        In the symbol table's order.
    symbols : frozenset of str
        The names of all functions and objects that the image defines.
    relocatable : bool
        Whether it is an unlinked object (``-rdc=true``), not an executable image.
    """

    arch: str
    kernels: tuple[Kernel, ...]
    symbols: frozenset[str] = field(default=frozenset(), repr=False)
    relocatable: bool = False


def parse(image: bytes | bytearray | memoryview) -> ParsedImage:
    """Parse a cubin.

    Parameters
    ----------
    image : bytes-like
        The whole image.

    Raises
    ------
    TypeError
        `image` is not bytes-like.
    ValueError
        It is not a cubin (the message says what it looks like), or a corrupt one.
    """
    if not isinstance(image, (bytes, bytearray, memoryview)):
        raise TypeError(f"a cubin is bytes, not {type(image).__name__}")
    data = bytes(image)
    other = describe(data)
    if other:
        raise ValueError(f"not a cubin: {other}")
    try:
        return _Reader(data).parse()
    except struct.error as error:
        raise ValueError(f"corrupt cubin: {error}") from None


class _Reader(ElfFile):
    def parse(self) -> ParsedImage:
        self._check_whole()
        arch, number = self._arch()
        entries, names = self._symbols()
        usage = self._usage(names)
        kernels = tuple(self._kernel(name, usage.get(name, {}), number) for name in entries)
        return ParsedImage(arch, kernels, frozenset(names.values()), self.relocatable)

    def _check_whole(self) -> None:
        """Refuse what lies beyond the end: a driver is told no size, and would read on."""
        offset, count = _SEGMENTS.unpack(self.take(0, _SEGMENTS.size, "the header"))
        segments = self.take(offset, count * _SEGMENT.size, "the segment table") if count else b""
        for segment in _SEGMENT.iter_unpack(segments):
            self.check_inside(segment[2], segment[5], "a segment")
        for section in self.rows:
            if section.type != NOBITS and section.type < _CUDA_TYPES:
                self.check_inside(section.offset, section.size, "a section")

    def _arch(self) -> tuple[str, int]:
        if self.osabi >= _OSABI_CUDA13:
            number = self.flags >> 8 & 0xFFFF
            accelerated = bool(self.flags & 0x8)
        else:
            number = self.flags & 0xFF
            accelerated = bool(self.flags & 0x800)
        # CUDA 13 moved the `a` of sm_90a from the flags into a section of its own.
        for attribute, value in _items(self.body(".nv.compat"), ".nv.compat"):
            accelerated |= attribute == _ACCELERATOR_TARGET and value == 1
        if number < 20:
            raise ValueError(f"corrupt cubin: unknown architecture in its flags {self.flags:#x}")
        if accelerated:
            return f"sm_{number}a", number
        # The `f` of sm_100f is recorded nowhere but in the assembler's own command line.
        family = _FAMILY.search(self.body(".note.nv.tkinfo"))
        suffix = "f" if family and int(family[1]) == number else ""
        return f"sm_{number}{suffix}", number

    def _symbols(self) -> tuple[list[str], dict[int, str]]:
        """Return the kernels' names, and the names of all defined symbols by index."""
        entries: list[str] = []
        names: dict[int, str] = {}
        rows, strings = self.symbols()
        for index, offset, kind, _, other, section, _, _ in rows:
            if section == 0 or kind not in (1, _STT_FUNC):
                continue
            name = self.string(strings, offset)
            names[index] = name
            is_entry = kind == _STT_FUNC and other & _STO_CUDA_ENTRY
            if is_entry and f".text.{name}" in self.sections:
                entries.append(name)
        return list(dict.fromkeys(entries)), names

    def _usage(self, names: dict[int, str]) -> dict[str, dict[int, int]]:
        """Return what .nv.info says of each function: attribute to value."""
        usage: dict[str, dict[int, int]] = {}
        for attribute, value in _items(self.body(".nv.info"), ".nv.info"):
            if attribute in (_FRAME_SIZE, _MIN_STACK_SIZE, _REGCOUNT) and isinstance(value, bytes):
                symbol, number = struct.unpack_from("<II", value)
                if symbol in names:
                    usage.setdefault(names[symbol], {})[attribute] = number
        return usage

    def _kernel(self, name: str, usage: dict[int, int], number: int) -> Kernel:
        where = f".nv.info.{name}"
        parameters: list[Parameter] = []
        shape: dict[int, tuple[int, int, int]] = {}
        explicit_cluster = grid_in_clusters = False
        for attribute, value in _items(self.body(where), where):
            if attribute == _EXPLICIT_CLUSTER:
                explicit_cluster = True
            elif attribute == _BLOCKS_ARE_CLUSTERS:
                grid_in_clusters = True
            elif not isinstance(value, bytes):
                continue
            elif attribute == _KPARAM_INFO:
                _, ordinal, offset, bits = struct.unpack_from("<IHHI", value)
                parameters.append(Parameter(ordinal, offset, bits >> 18))
            elif attribute == _KPARAM_INFO_V2:
                # The upper bits hold the pointee's space and alignment.
                _, ordinal, offset, bits = struct.unpack_from("<IHHI", value)
                parameters.append(Parameter(ordinal, offset, bits & 0xFFFF))
            elif attribute in (_MAX_THREADS, _REQNTID, _CTA_PER_CLUSTER):
                shape[attribute] = struct.unpack_from("<III", value)
        cluster = shape.get(_CTA_PER_CLUSTER)
        if not explicit_cluster and cluster == (1, 1, 1):
            cluster = None
        required = shape.get(_REQNTID)
        threads = prod(required or shape.get(_MAX_THREADS) or (1024,))
        frame = usage.get(_FRAME_SIZE, 0)
        stack = usage.get(_MIN_STACK_SIZE, frame)
        return Kernel(
            name=name,
            params=_ordered(parameters, name),
            # Older assemblers had the count in the code section's header alone.
            registers=usage.get(_REGCOUNT, self.sections[f".text.{name}"].info >> 24),
            static_smem_bytes=self._shared(name, number),
            # A recursive kernel's stack is unbounded; its own frame is what is known.
            local_bytes=frame if stack == _UNBOUNDED_STACK else max(stack, frame),
            max_threads=threads if 0 < threads <= 1024 else 1024,
            required_block=required,
            cluster=cluster,
            grid_in_clusters=grid_in_clusters and prod(cluster or (1,)) > 1,
        )

    def _shared(self, name: str, number: int) -> int:
        section = self.sections.get(f".nv.shared.{name}")
        if section is None:
            return 0
        reserved = _RESERVED_SMEM if number >= 90 else 0
        return max(0, section.size - reserved)


def _items(data: bytes, where: str) -> Iterator[tuple[int, int | bytes]]:
    """Yield (attribute, value) of an attribute section; sized values are bytes."""
    position = 0
    while position + _ITEM.size <= len(data):
        layout, attribute, value = _ITEM.unpack_from(data, position)
        position += _ITEM.size
        if layout != _FORMAT_SIZED:
            yield attribute, value
            continue
        if position + value > len(data):
            raise ValueError(f"corrupt cubin: an attribute overruns section {where}")
        yield attribute, data[position : position + value]
        position += value


def _ordered(parameters: list[Parameter], name: str) -> tuple[Parameter, ...]:
    ordered = tuple(sorted(parameters, key=lambda parameter: parameter.ordinal))
    if [parameter.ordinal for parameter in ordered] != list(range(len(ordered))):
        raise ValueError(f"corrupt cubin: kernel {name!r} has gaps in its parameter list")
    return ordered
