"""What bytes are: a cubin, PTX, a fatbin, LTO-IR or a host file, as their content tells."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ImageError
from .cubin import Cubin

# The first bytes of each.
ELF = b"\x7fELF"
FATBIN = b"\x50\xed\x55\xba"
_LTOIR = b"\xed\x43\x4e\x7f"
_ARCHIVE = b"!<arch>\n"

_EM_CUDA = b"\xbe\0"  # the machine of a cubin, in its ELF header

UNLINKED = (
    "wanted is a cubin, PTX or a fatbin; nvjitlink.link and device_libraries= link other code"
)
"""What is said of anything that a module cannot launch."""


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
    return Cubin(regular(value).read_bytes(), "", name=f"{what} ({os.fspath(value)})")


def regular(path: str | os.PathLike[str]) -> Path:
    """Return a file's path; a pipe or a device, which may never end, is an OSError."""
    found = Path(path)
    if found.exists() and not (found.is_file() or found.is_dir()):
        problem = "it is not a regular file: write its content to one, and name that"
        raise OSError(errno.EINVAL, problem, os.fspath(path))
    return found


def read_image(
    given: Cubin, *, wanted: Collection[str] = ("cubin", "ptx", "fatbin"), or_else: str = UNLINKED
) -> Cubin:
    """Return an image with the kind and the architecture that its content tells."""
    try:
        kind, arch = _kind_and_arch(given.image)
        if kind not in wanted:
            raise ImageError(f"it is of the kind {kind!r}; {or_else}")
    except ImageError as error:
        named = f"{given.name}: " if given.name else ""
        raise ImageError(f"{named}{error}") from None
    return replace(given, kind=kind, arch=arch or given.arch)


def _kind_and_arch(data: bytes) -> tuple[str, str]:
    from . import fatbin, nv_info, ptx
    from .elf import Elf

    if data.startswith(_LTOIR):
        return "ltoir", ""
    if data.startswith(_ARCHIVE):
        return "library", ""
    if data.startswith(FATBIN):
        return "fatbin", fatbin.archs(data)
    if data.startswith(ELF):
        elf = Elf(data)
        if is_host_elf(data):
            return "object" if elf.is_object else "shared object", ""
        return "relocatable" if elf.is_object else "cubin", nv_info.arch(elf)
    if arch := ptx.arch(data):
        return "ptx", arch
    raise ImageError(f"it is not an image: it begins with {data[:40]!r}")


def is_host_elf(head: bytes) -> bool:
    """Whether what begins so is an ELF file, and no device image."""
    return head.startswith(ELF) and head[18:20] != _EM_CUDA


@contextmanager
def reading() -> Iterator[None]:
    """Make what a reader stumbles over in damaged bytes an `ImageError`; also a decorator."""
    try:
        yield
    except (struct.error, LookupError, ArithmeticError, MemoryError) as error:
        raise ImageError(f"it is truncated or damaged ({error})") from None
