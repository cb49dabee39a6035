"""Which functions and variables a relocatable cubin defines, and who else may refer to them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from .elf_file import ElfFile
from .image_kind import describe

__all__ = ["DefinedSymbols", "defined_symbols"]

_STB_GLOBAL, _STB_WEAK = 1, 2
# 13 is NVIDIA's own, for variables of an image that is not linked yet.
_STT_OBJECT, _STT_FUNC, _STT_CUDA_OBJECT = 1, 2, 13


@dataclass(frozen=True)
class DefinedSymbols:
    """The symbols that an image defines, without those that it only refers to.

    Attributes
    ----------
    shared : frozenset of str
        Those that other units see, and that no other unit may define.
    weak : frozenset of str
        Those that several units may define: instances of templates, inline functions.
    local : frozenset of str
        Those of this unit alone: static ones and those of unnamed namespaces.
    """

    shared: frozenset[str] = frozenset()
    weak: frozenset[str] = frozenset()
    local: frozenset[str] = frozenset()


def defined_symbols(image: bytes) -> DefinedSymbols:
    """Return the functions and variables that a cubin defines.

    Raises
    ------
    ValueError
        It is no cubin, or a corrupt one.
    """
    if other := describe(image):
        raise ValueError(f"not a cubin: {other}")
    try:
        return _read(ElfFile(image))
    except struct.error as error:
        raise ValueError(f"corrupt cubin: {error}") from None


def _read(file: ElfFile) -> DefinedSymbols:
    found: dict[int, set[str]] = {}
    rows, strings = file.symbols()
    for row in rows:
        if row.section and row.type in (_STT_OBJECT, _STT_FUNC, _STT_CUDA_OBJECT):
            found.setdefault(row.binding, set()).add(file.string(strings, row.name))
    shared, weak = found.pop(_STB_GLOBAL, set()), found.pop(_STB_WEAK, set())
    return DefinedSymbols(frozenset(shared), frozenset(weak), frozenset().union(*found.values()))
