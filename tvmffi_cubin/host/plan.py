"""`BuildPlan`: what a shared object is built from, as plain records."""

from __future__ import annotations

import os
from typing import NamedTuple

PRECOMPILED = "tvmffi_cubin_precompiled.h"
"""What a precompiled header is called; compilers list it among what they read."""

# Two shared objects must not interpose each other's images, nor the process's own driver and
# runtime entry points, nor share our classes: under RTLD_GLOBAL a global symbol would.
LOCAL_SYMBOLS = (
    "cu[A-Z]*",
    "cuda[A-Z]*",
    "__tvm_ffi__cubin_*",
    "__tvmffi_cubin_*",
    "_Z*tvmffi_cubin*",
)


class Cxx(NamedTuple):
    """One C++ or C unit. Its paths, as those of all units, are absolute or of the build folder.

    `prefix` is what the source begins with that stays the same from build to build (includes). The
    object is called `name`, by default as the source.
    """

    source: str
    command: tuple[str, ...]
    flags: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    prefix: str = ""
    name: str = ""

    @property
    def stem(self) -> str:
        """File name of what is made of it, without suffixes."""
        return self.name or os.path.basename(self.source)


class Assembly(NamedTuple):
    """One assembly unit."""

    source: str
    command: tuple[str, ...]
    flags: tuple[str, ...] = ()


class DeviceLink(NamedTuple):
    """The device code of several objects, linked to one more object by nvcc."""

    name: str
    command: tuple[str, ...]
    flags: tuple[str, ...]
    objects: tuple[str, ...]


Unit = Cxx | Assembly | DeviceLink


class Link(NamedTuple):
    """How the objects become one shared object.

    `command` is the compiler driver; `objects` were compiled elsewhere and come after the units';
    `flags` are the user's, and what host code needs. `bare` links no C or C++ runtime, and allows
    undefined symbols: for units that call nothing but C functions, which the process has anyway;
    it takes a third of the time. `linker` is then the ``ld`` to run by itself; where that fails,
    `command` links, if any. `required` are symbols that must be defined (never with `bare`);
    `local_symbols` patterns of those that stay inside.
    """

    command: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    bare: bool = False
    linker: str | None = None
    required: tuple[str, ...] = ()
    local_symbols: tuple[str, ...] = LOCAL_SYMBOLS


class Merge(NamedTuple):
    """How the objects become one object, by ``ld -r``; one alone is copied.

    `objects`, compiled elsewhere, come after the units'; where `apart` names a file, they become
    an object of that name instead, which takes a tenth of the time.
    """

    linker: str
    objects: tuple[str, ...] = ()
    apart: str = ""


class BuildPlan(NamedTuple):
    """All that one shared object, or object, is built from; no two units share a file name."""

    name: str
    units: tuple[Unit, ...]
    link: Link | Merge
    output: str = ""

    @property
    def product(self) -> str:
        """File name of what is made."""
        return self.output or f"{self.name}.so"


def object_name(unit: Unit) -> str:
    """Return the file name of a unit's object."""
    if isinstance(unit, DeviceLink):
        return f"{unit.name}.o"
    return f"{unit.stem if isinstance(unit, Cxx) else os.path.basename(unit.source)}.o"
