"""`BuildPlan`: what a shared object is built from, as plain records."""

from __future__ import annotations

import os
from typing import NamedTuple

__all__ = [
    "LOCAL_SYMBOLS",
    "Assembly",
    "BuildPlan",
    "Cxx",
    "DeviceLink",
    "Link",
    "Merge",
    "Unit",
    "object_name",
]


# Two shared objects must not interpose each other's images, nor the process's own driver and
# runtime entry points, nor share our classes: under RTLD_GLOBAL a global symbol would.
PRECOMPILED = "tvmffi_cubin_precompiled.h"
"""What a precompiled header is called; compilers list it among what they read."""

LOCAL_SYMBOLS = (
    "cu[A-Z]*",
    "cuda[A-Z]*",
    "__tvm_ffi__cubin_*",
    "__tvmffi_cubin_*",
    "_Z*tvmffi_cubin*",
)


class Cxx(NamedTuple):
    """One C++ or C translation unit.

    Attributes
    ----------
    source : str
        Path, relative to the build folder or absolute.
    command : tuple of str
        The compiler, such as ``("g++",)``.
    flags : tuple of str
        In order.
    include_dirs : tuple of str
        Searched in order, after those that `flags` name.
    prefix : str
        Text that the source begins with and that stays the same from build to build: includes.
        May be empty.
    common_prefix : str
        The part of `prefix` that most units have, where others go on differently; may be empty.
    name : str
        What the object is called, without its suffix; where empty, as the source is.
    """

    source: str
    command: tuple[str, ...]
    flags: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    prefix: str = ""
    common_prefix: str = ""
    name: str = ""

    @property
    def stem(self) -> str:
        """File name of what is made of it, without suffixes."""
        return self.name or os.path.basename(self.source)


class Assembly(NamedTuple):
    """One assembly unit that embeds images with ``.incbin``.

    Attributes
    ----------
    source : str
        Path, relative to the build folder or absolute.
    command : tuple of str
        What assembles: ``("as",)``, or ``("g++", "-c")`` which also preprocesses a ``.S``.
    images : tuple of str
        Every file that it embeds. New bytes in one assemble the unit again.
    flags : tuple of str
        In order.
    """

    source: str
    command: tuple[str, ...]
    images: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


class DeviceLink(NamedTuple):
    """The device code of several objects, linked to one more object by nvcc.

    Attributes
    ----------
    name : str
        What the object is called, without its suffix.
    command : tuple of str
        nvcc.
    flags : tuple of str
        In order.
    objects : tuple of str
        Objects and static libraries, made by other units or given.
    """

    name: str
    command: tuple[str, ...]
    flags: tuple[str, ...]
    objects: tuple[str, ...]

    @property
    def source(self) -> str:
        """What messages call it."""
        return self.name


Unit = Cxx | Assembly | DeviceLink


class Link(NamedTuple):
    """How the objects become one shared object.

    Attributes
    ----------
    command : tuple of str
        The compiler driver, such as ``("g++",)``.
    libraries : tuple of str
        Libraries to link, by path; each is an input of the link.
    objects : tuple of str
        What was compiled elsewhere, by path; linked after the units' objects.
    flags : tuple of str
        The user's own, after everything else.
    further_flags : tuple of str
        Added after those where it does not link without them.
    bare : bool
        Link no C or C++ runtime: for units that call nothing but C functions, which the process
        has anyway. It takes a third of the time.
    linker : str or None
        With `bare`, the ``ld`` to run by itself; where that fails, `command` links, if any.
    required : tuple of str
        Symbols that an object or library must define (never with `bare`).
    no_undefined : bool
        Refuse symbols that no object or library defines (never with `bare`).
    local_symbols : tuple of str
        Patterns of symbols that stay inside; empty where the user brings a version script.
    """

    command: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    bare: bool = False
    linker: str | None = None
    further_flags: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    no_undefined: bool = True
    local_symbols: tuple[str, ...] = LOCAL_SYMBOLS


class Merge(NamedTuple):
    """How the objects become one object, which is yet to be linked.

    Attributes
    ----------
    linker : str
        The ``ld`` to run; not used for an object alone, which is copied.
    objects : tuple of str
        What was compiled elsewhere, by path; merged after the units' objects.
    apart : str
        File name of an object of its own that `objects` become in place of that, where there are
        any; empty where they are merged. It takes a tenth of the time.
    """

    linker: str
    objects: tuple[str, ...] = ()
    apart: str = ""


class BuildPlan(NamedTuple):
    """Everything that one shared object, or one object, is built from.

    Attributes
    ----------
    name : str
        The shared object is ``<name>.so``, where `output` does not say otherwise.
    units : tuple of Unit
        At least one, unless the link has objects of its own; no two may share a file name.
    link : Link or Merge
        The last step.
    output : str
        File name of what is made.
    """

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
