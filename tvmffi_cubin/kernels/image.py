"""What bytes are: a cubin, PTX, a fatbin, LTO-IR or a host file, as their content tells."""

from __future__ import annotations

import errno
import os
import re
import stat
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..errors import ImageError
from .cubin import Cubin

# The first bytes of each.
ELF = b"\x7fELF"
FATBIN = b"\x50\xed\x55\xba"
_LTOIR = b"\xed\x43\x4e\x7f"
_ARCHIVE = b"!<arch>\n"

_EM_CUDA = 190  # the machine of a cubin, in its ELF header
_HEAD = 8192  # bytes enough for the banner of PTX, or what precedes a source's first kernel

UNLINKED = (
    "wanted is a cubin, PTX or a fatbin; code that is yet to be linked is linked by "
    "nvjitlink.link, or given as device_libraries"
)
"""What is said of anything that a module cannot launch."""
_CALLED = {
    "cubin": "a cubin, linked already",
    "relocatable": "a relocatable cubin, yet to be linked",
    "ltoir": "LTO-IR, yet to be linked",
    "ptx": "PTX",
    "library": "a static library",
    "object": "an object of the host",
    "program": "a shared object or program of the host",
}


def take_image(what: str, value: Any) -> Cubin:
    """Return what a caller gave as bytes, a `Cubin` or the path of a file, not looked into yet."""
    if isinstance(value, Cubin):
        known = (value.arch, value.lowered_names)
        return Cubin(value.image, *known, signatures=value.signatures, name=what)
    if isinstance(value, bytes | bytearray | memoryview):
        return Cubin(bytes(value), "", name=what)
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{what} is bytes, a Cubin or a path, got {type(value).__name__}")
    if isinstance(value, str) and "\n" in value:
        raise ValueError(f"{what} is text, not the path of a file: give it as bytes, text.encode()")
    try:
        check_regular(value)
        with open(value, "rb") as file:
            return Cubin(file.read(), "", name=f"{what} ({os.fspath(value)})")
    except OSError as error:
        raise OSError(error.errno, f"{what}: {error.strerror}", error.filename) from None


def read_image(
    given: Cubin, *, wanted: Collection[str] = ("cubin", "ptx", "fatbin"), or_else: str = UNLINKED
) -> Cubin:
    """Return an image with the kind and the architecture that its content tells.

    An ImageError says that it is damaged, or of no kind that is wanted: then also `or_else`.
    """
    try:
        kind, arch = _kind_and_arch(given.image)
        if kind not in wanted:
            raise ImageError(f"it is {_CALLED.get(kind, f'a {kind}')}; {or_else}")
    except ImageError as error:
        named = f"{given.name}: " if given.name else ""
        raise ImageError(f"{named}{error}") from None
    return replace(given, kind=kind, arch=arch or given.arch)


def _kind_and_arch(data: bytes) -> tuple[str, str]:
    if data.startswith(_LTOIR):
        return "ltoir", ""
    if data.startswith(_ARCHIVE):
        return "library", ""
    if data.startswith(FATBIN):
        from . import fatbin

        return "fatbin", fatbin.archs(data)
    if data.startswith(ELF):
        from . import nv_info
        from .elf import Elf

        elf = Elf(data)
        if elf.machine != _EM_CUDA:
            return "object" if elf.is_object else "program", ""
        return "relocatable" if elf.is_object else "cubin", nv_info.arch(elf)
    if looks_like_ptx(data):
        from . import ptx

        return "ptx", ptx.arch(data)
    if not data:
        raise ImageError("it is empty")
    if b"\0" not in data[:_HEAD] and b"__global__" in data[:_HEAD]:
        raise ImageError("it is CUDA source: compile it first")
    raise ImageError(f"it is not an image: it begins with {data[:8].hex(' ')}")


def is_host_elf(head: bytes) -> bool:
    """Whether what begins so is an ELF file, and no device image."""
    return head.startswith(ELF) and len(head) >= 20 and head[18:20] != bytes([_EM_CUDA, 0])


def looks_like_ptx(data: bytes) -> bool:
    """Whether bytes begin as PTX does, with ``.version`` after comments."""
    head = re.sub(rb"//[^\n]*|/\*.*?(?:\*/|\Z)", b" ", data[:_HEAD], flags=re.DOTALL)
    return re.match(rb"\s*\.version\s+\d+\.\d+", head) is not None


def check_regular(path: str | os.PathLike[str]) -> None:
    """Refuse a pipe and a device, which may never end, before they are opened."""
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        problem = "it is not a regular file: write its content to one, and name that"
        raise OSError(errno.EINVAL, problem, os.fspath(path))


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Make what a reader stumbles over in damaged bytes an `ImageError`; also a decorator."""
    try:
        yield
    except (struct.error, LookupError, ArithmeticError, MemoryError) as error:
        raise ImageError(f"corrupt {what}: it is truncated or damaged ({error})") from None
