"""The functions and variables of code that is yet to be linked: defined, or referred to."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from .elf_file import ElfFile
from .image_kind import describe

__all__ = ["DeviceSymbol", "device_symbols", "ptx_symbols"]

_STB_GLOBAL, _STB_WEAK = 1, 2
# 13 is NVIDIA's own, for variables of an image that is not linked yet.
_STT_OBJECT, _STT_FUNC, _STT_CUDA_OBJECT = 1, 2, 13
_STO_CUDA_ENTRY = 0x10
_SPACE = 0xE0
_SPACES = {0x20: "__device__", 0x40: "__shared__", 0x80: "__constant__"}

_PTX_CODE = re.compile(
    r"^[ \t]*\.(visible|weak|extern)\s+\.(func|entry)\s+(?:\([^)]*\)\s*)?([\w$]+)", re.MULTILINE
)
_PTX_VARIABLE = re.compile(
    r"^[ \t]*\.(visible|weak|extern)\s+\.(global|const)\b[^;=]*?([\w$]+)\s*(?:\[\d*\]\s*)*[;=]",
    re.MULTILINE,
)
_PTX_WHAT = {
    "func": "function",
    "entry": "kernel",
    "global": "__device__",
    "const": "__constant__",
}


class DeviceSymbol(NamedTuple):
    """One function or variable.

    Attributes
    ----------
    name : str
        As it is in the symbol table, mangled where it is C++.
    defined : bool
        Whether it is defined here; else only referred to.
    linkage : str
        ``"shared"``: other units see it, and none of them may define it too. ``"weak"``: several
        may (instances of templates, inline functions). ``"local"``: no other unit sees it.
    what : str
        ``"kernel"``, ``"function"``, or the memory of a variable, such as ``"__device__"``.
    size : int
        Bytes of a variable, 0 where it is not known; of no meaning for functions.
    """

    name: str
    defined: bool
    linkage: str
    what: str
    size: int


def device_symbols(image: bytes) -> tuple[DeviceSymbol, ...]:
    """Return the functions and variables of a relocatable cubin, in the symbol table's order.

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


def _read(file: ElfFile) -> tuple[DeviceSymbol, ...]:
    found = []
    rows, strings = file.symbols()
    for row in rows:
        if row.type not in (_STT_OBJECT, _STT_FUNC, _STT_CUDA_OBJECT):
            continue
        linkage = {_STB_GLOBAL: "shared", _STB_WEAK: "weak"}.get(row.binding, "local")
        if row.type == _STT_FUNC:
            what = "kernel" if row.other & _STO_CUDA_ENTRY else "function"
        else:
            what = _SPACES.get(row.other & _SPACE, "variable")
        name = file.string(strings, row.name)
        found.append(DeviceSymbol(name, row.section != 0, linkage, what, row.size))
    return tuple(found)


def ptx_symbols(data: bytes) -> tuple[DeviceSymbol, ...]:
    """Return the functions and variables of PTX that other units see."""
    text = data.decode("utf-8", "replace")
    found = []
    for pattern in (_PTX_CODE, _PTX_VARIABLE):
        for linkage, what, name in pattern.findall(text):
            link = "weak" if linkage == "weak" else "shared"
            found.append(DeviceSymbol(name, linkage != "extern", link, _PTX_WHAT[what], 0))
    return tuple(found)
