"""`LinkInput`: one thing to link, its kind told from its content."""

from __future__ import annotations

import os
from typing import NamedTuple

from ..kernels import fatbin, nv_info, ptx
from ..kernels.cubin import Cubin
from ..kernels.elf import RELOCATABLE, Elf
from ..kernels.image import ARCHIVE, ELF, EM_CUDA, FATBIN, LTOIR, describe, looks_like_ptx
from ..kernels.nv_info import DeviceSymbol
from .arch import number_of
from .given import GivenImage, read_given

Linkable = Cubin | bytes | bytearray | memoryview | str | os.PathLike[str]
"""What can be linked: an image, its bytes, or the path of its file."""

_HEADER_SIZE = 64


class LinkInput(NamedTuple):
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
    data: bytes
    arch: str | None = None

    def symbols(self, target: str = "") -> tuple[DeviceSymbol, ...]:
        """Return what relocatable code or PTX defines and uses; of a fatbin what `target` gets.

        Of other kinds nothing is known.
        """
        if self.kind == "ptx":
            return ptx.ptx_symbols(self.data)
        images = [self.data] if self.kind == "relocatable" else []
        if self.kind == "fatbin":
            members = (x for x in fatbin.readable(self.data)[0] if x.kind == "relocatable")
            images = [x.image for x in members if _fits(x.arch, target, is_code=True)][-1:]
        try:
            return tuple(symbol for image in images for symbol in nv_info.device_symbols(image))
        except ValueError as error:
            raise ValueError(f"{self.name} cannot be linked: {error}") from None

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
    """Return an input from what a caller gave, a path called by itself.

    Raises
    ------
    TypeError, ValueError, OSError
        It cannot be linked; the message says what it looks like.
    """
    return as_input(read_given(name, value))


def as_input(given: GivenImage) -> LinkInput:
    """Return an input from what was read.

    Raises
    ------
    ValueError
        It cannot be linked; the message says what it looks like.
    """
    try:
        return _classified(given)
    except ValueError as error:
        raise ValueError(f"{given.name} cannot be linked: {error}") from None


def _classified(given: GivenImage) -> LinkInput:
    data, name = given.data, given.name
    # What is truncated nvJitLink reads on where it ends; it crashes, or never returns.
    if data.startswith(FATBIN):
        members, unreadable = fatbin.readable(data)
        if members and not unreadable and all(member.kind == "cubin" for member in members):
            raise ValueError(
                "its cubins are linked already, and of those nothing can be used elsewhere; "
                'compile them with target_type="relocatable" (nvcc: -rdc=true -fatbin)'
            )
        return LinkInput(name, "fatbin", data)
    if data.startswith(LTOIR):
        # It does not say what it was compiled for.
        return LinkInput(name, "ltoir", data, given.arch or None)
    if data.startswith(ARCHIVE):
        _check_archive(data)
        return LinkInput(name, "library", data)
    if data.startswith(ELF) and len(data) >= _HEADER_SIZE:
        return _classify_elf(data, name)
    if looks_like_ptx(data):
        return LinkInput(name, "ptx", data, ptx.parse(data).target)
    raise ValueError(
        f"{describe(data)}; wanted is a relocatable cubin, LTO-IR, PTX, "
        "a fatbin, or a static library or object with device code"
    )


def _check_archive(data: bytes) -> None:
    """Refuse a truncated archive; 60 bytes precede each member, its size among them."""
    position = len(ARCHIVE)
    while position < len(data):
        header = data[position : position + 60]
        size = header[48:58].strip()
        if not header.endswith(b"`\n") or not size.isdigit():
            raise ValueError(f"corrupt library: the member at byte {position} has no header")
        end = position + 60 + int(size)
        if end > len(data):
            raise ValueError(
                f"corrupt library: the member at byte {position} ends at byte {end}, but the "
                f"library has {len(data)}: it is truncated or damaged"
            )
        position = end + end % 2


def _classify_elf(data: bytes, name: str) -> LinkInput:
    file_type, machine = (int.from_bytes(data[at : at + 2], "little") for at in (16, 18))
    if machine == EM_CUDA:
        image = nv_info.parse(data)
        if not image.relocatable:
            raise ValueError(
                "it is a cubin that is linked already, of which nothing can be used elsewhere; "
                'compile it with target_type="relocatable" (nvcc: -rdc=true -cubin)'
            )
        return LinkInput(name, "relocatable", data, image.arch)
    if file_type != RELOCATABLE:
        raise ValueError(
            "it is a shared object or a program of the host; "
            "give the static library or the object files that it was made from"
        )
    Elf(data, "object")
    return LinkInput(name, "object", data)
