"""`fatbins`: the device code that nvcc put into an object or a shared object."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap

from .kernels.elf import Elf
from .kernels.image import FATBIN

__all__ = ["fatbins"]

# What is loaded; what is yet to be linked (-rdc=true), which stays in shared objects unused.
_LINKED, _SEPARATE = ".nv_fatbin", "__nv_relfatbin"
_HEADER = struct.Struct("<4sHHQ")
_ALIGNMENT = 8


def fatbins(content: bytes | mmap) -> Iterator[tuple[str, bytes]]:
    """Yield the fatbins of a host file, each with the name of its section.

    The units of a shared object follow each other there, with room between them.

    Raises
    ------
    ValueError
        It is no host file, or damaged.
    """
    file = Elf(content)
    names = (_LINKED, _SEPARATE) if file.is_object else (_LINKED,)
    for name in names:
        section = file.body(file.section(name))
        at = 0
        while (at := section.find(FATBIN, at)) >= 0:
            if at % _ALIGNMENT or at + _HEADER.size > len(section):
                at += 1
                continue
            _, _, header_size, size = _HEADER.unpack_from(section, at)
            end = at + header_size + size
            yield name, section[at:end]
            at = max(end, at + _HEADER.size)
