"""`BuildPlan`: what a shared object is built from, as frozen dataclasses that check themselves."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from .command_words import check_path, check_paths, check_word, check_words

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


@dataclass(frozen=True)
class Cxx:
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

    def __post_init__(self) -> None:
        check_path("source", self.source)
        check_words("command", self.command, least=1)
        check_words("flags", self.flags)
        check_words("include_dirs", self.include_dirs)
        check_word("name", self.name)

    @property
    def stem(self) -> str:
        """File name of what is made of it, without suffixes."""
        return self.name or os.path.basename(self.source)


@dataclass(frozen=True)
class Assembly:
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

    def __post_init__(self) -> None:
        check_path("source", self.source)
        check_words("command", self.command, least=1)
        check_paths("images", self.images)
        check_words("flags", self.flags)


@dataclass(frozen=True)
class DeviceLink:
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

    def __post_init__(self) -> None:
        check_path("name", self.name)
        check_words("command", self.command, least=1)
        check_words("flags", self.flags)
        check_paths("objects", self.objects)

    @property
    def source(self) -> str:
        """What messages call it."""
        return self.name


Unit = Cxx | Assembly | DeviceLink


@dataclass(frozen=True)
class Link:
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

    def __post_init__(self) -> None:
        check_words("command", self.command, least=0 if self.linker else 1)
        check_paths("libraries", self.libraries)
        check_paths("objects", self.objects)
        check_words("flags", self.flags)
        check_words("further_flags", self.further_flags)
        check_words("required", self.required)
        check_words("local_symbols", self.local_symbols)
        if self.linker is not None:
            check_path("linker", self.linker)
            if not self.bare:
                raise ValueError("linker= is for bare links; with a runtime, command links")


@dataclass(frozen=True)
class Merge:
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

    def __post_init__(self) -> None:
        check_path("linker", self.linker)
        check_paths("objects", self.objects)
        check_word("apart", self.apart)


@dataclass(frozen=True)
class BuildPlan:
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
    link: Link | Merge = field(kw_only=True)
    output: str = ""

    def __post_init__(self) -> None:
        for what, name in (("name", self.name), ("output", self.product)):
            check_path(what, name)
            if "/" in name or name in (".", ".."):
                raise ValueError(f"{what} must be a plain file name, got {name!r}")
        if not (self.units or self.link.objects):
            raise ValueError(f"build plan {self.name!r} has no units; give at least one")
        seen: dict[str, str] = {self.product: "output"}
        for unit in self.units:
            made = object_name(unit)
            if made in seen:
                raise ValueError(
                    f"units {seen[made]!r} and {unit.source!r} both make {made!r}; "
                    "give their sources different file names"
                )
            seen[made] = unit.source

    @property
    def product(self) -> str:
        """File name of what is made."""
        return self.output or f"{self.name}.so"


def object_name(unit: Unit) -> str:
    """Return the file name of a unit's object."""
    if isinstance(unit, DeviceLink):
        return f"{unit.name}.o"
    return f"{unit.stem if isinstance(unit, Cxx) else os.path.basename(unit.source)}.o"
