"""`LinkInput`: one thing to link, its kind told from its content."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property

from .arch import number_of
from .given_image import GivenImage, read_given
from .kernels import fatbin, nv_info, ptx
from .kernels.cubin import Cubin
from .kernels.elf import RELOCATABLE, Elf
from .kernels.image import ARCHIVE, ELF, EM_CUDA, FATBIN, LTOIR, describe, looks_like_ptx
from .kernels.nv_info import DeviceSymbol

__all__ = ["LinkInput", "Linkable", "as_input", "read_input"]

Linkable = Cubin | bytes | bytearray | memoryview | str | os.PathLike[str]
"""What can be linked: an image, its bytes, or the path of its file."""

_MAGICS = ((FATBIN, "fatbin"), (LTOIR, "ltoir"), (ARCHIVE, "library"))
_HEADER_SIZE = 64
# What precedes each member of an archive: its size in decimal digits, then two bytes of its own.
_ARCHIVE_HEADER, _ARCHIVE_SIZE, _ARCHIVE_END = 60, slice(48, 58), b"`\n"


@dataclass(frozen=True)
class LinkInput:
    """One thing to link.

    Attributes
    ----------
    name : str
        What messages call it.
    kind : str
        ``"relocatable"``, ``"ltoir"``, ``"ptx"``, ``"fatbin"``, ``"object"`` (a host object with
        device code in it) or ``"library"`` (an archive of such).
    data : bytes
        Its content.
    arch : str or None
        What it was compiled for; None where it may hold several, or does not say.
    """

    name: str
    kind: str
    data: bytes = field(repr=False)
    arch: str | None = None

    @cached_property
    def symbols(self) -> tuple[DeviceSymbol, ...]:
        """What relocatable code or PTX defines and refers to; of other kinds nothing is known.

        Raises
        ------
        ValueError
            It is damaged.
        """
        if self.kind == "relocatable":
            try:
                return nv_info.device_symbols(self.data)
            except ValueError as error:
                raise ValueError(f"{self.name} cannot be linked: {error}") from None
        return ptx.ptx_symbols(self.data) if self.kind == "ptx" else ()

    def check_arch(self, target: str) -> None:
        """Check that it can be linked into an image for an architecture.

        Raises
        ------
        ValueError
            It cannot; the message names both architectures.
        """
        if self.arch is None or _fits(self.arch, target, is_code=self.kind == "relocatable"):
            return
        raise ValueError(
            f"{self.name} is for {self.arch} and cannot be linked into an image for {target}: "
            f'compile it for {target}, or the rest for it (arch="{self.arch}")'
        )


def _fits(arch: str, target: str, *, is_code: bool) -> bool:
    number, wanted = number_of(arch), number_of(target)
    same_family = number // 10 == wanted // 10
    if number > wanted:
        return False
    # Code with an architecture's own features must not end up in an image that claims less.
    if arch.endswith("a"):
        return arch == target
    if arch.endswith("f"):
        return same_family and target[-1] in "af"
    return same_family or not is_code


def read_input(value: object, name: str) -> LinkInput:
    """Return an input from what a caller gave.

    Parameters
    ----------
    value : Cubin, bytes or path
        A relocatable cubin, LTO-IR, PTX, a fatbin, a host object with device code, or a static
        library.
    name : str
        What messages call it; a path is called by itself.

    Raises
    ------
    TypeError, ValueError, OSError
        It is none of these; the message says what it looks like.
    """
    return as_input(read_given(name, value))


def as_input(given: GivenImage) -> LinkInput:
    """Return an input from what was read.

    Raises
    ------
    ValueError
        It cannot be linked; the message says what it looks like.
    """
    data, name = given.data, given.name
    for magic, kind in _MAGICS:
        if data.startswith(magic):
            _check_whole(data, name, kind)
            # LTO-IR does not say what it was compiled for.
            arch = given.arch if kind == "ltoir" else ""
            return LinkInput(name, kind, data, arch or None)
    if data.startswith(ELF) and len(data) >= _HEADER_SIZE:
        return _classify_elf(data, name)
    if looks_like_ptx(data):
        try:
            return LinkInput(name, "ptx", data, ptx.parse(data).target)
        except ValueError as error:
            raise ValueError(f"{name} cannot be linked: {error}") from None
    raise ValueError(
        f"{name} cannot be linked: {describe(data)}; wanted is a relocatable cubin, LTO-IR, PTX, "
        "a fatbin, or a static library or object with device code"
    )


def _check_whole(data: bytes, name: str, kind: str) -> None:
    """Refuse what is truncated: nvJitLink reads on where it ends, crashes, or never returns."""
    try:
        if kind == "fatbin":
            _check_fatbin(data)
        elif kind == "library":
            _check_archive(data)
    except ValueError as error:
        raise ValueError(f"{name} cannot be linked: {error}") from None


def _check_fatbin(data: bytes) -> None:
    members, unreadable = fatbin.readable(data)
    if members and not unreadable and all(member.kind == "cubin" for member in members):
        raise ValueError(
            "its cubins are linked already, and of those nothing can be used elsewhere; compile "
            'them with target_type="relocatable" (nvcc: -rdc=true -fatbin)'
        )


def _check_archive(data: bytes) -> None:
    position = len(ARCHIVE)
    while position < len(data):
        header = data[position : position + _ARCHIVE_HEADER]
        size = header[_ARCHIVE_SIZE].strip()
        if not header.endswith(_ARCHIVE_END) or not size.isdigit():
            raise ValueError(f"corrupt library: the member at byte {position} has no header")
        end = position + _ARCHIVE_HEADER + int(size)
        if end > len(data):
            raise ValueError(
                f"corrupt library: the member at byte {position} ends at byte {end}, but the "
                f"library has {len(data)}: it is truncated or damaged"
            )
        position = end + end % 2


def _classify_elf(data: bytes, name: str) -> LinkInput:
    file_type, machine = (int.from_bytes(data[at : at + 2], "little") for at in (16, 18))
    if machine != EM_CUDA:
        if file_type != RELOCATABLE:
            raise ValueError(
                f"{name} cannot be linked: it is a shared object or a program of the host; "
                "give the static library or the object files that it was made from"
            )
        try:
            Elf(data, "object")
        except ValueError as error:
            raise ValueError(f"{name} cannot be linked: {error}") from None
        return LinkInput(name, "object", data)
    try:
        image = nv_info.parse(data)
    except ValueError as error:
        raise ValueError(f"{name} cannot be linked: {error}") from None
    if not image.relocatable:
        raise ValueError(
            f"{name} cannot be linked: it is a cubin that is linked already, of which nothing can "
            'be used elsewhere; compile it with target_type="relocatable" (nvcc: -rdc=true -cubin)'
        )
    return LinkInput(name, "relocatable", data, image.arch)
