"""What kind of image bytes are, told from how they begin."""

from __future__ import annotations

import errno
import os
import re
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import ImageError

# The first bytes of each.
ELF = b"\x7fELF"
FATBIN = b"\x50\xed\x55\xba"
LTOIR = b"\xed\x43\x4e\x7f"
ARCHIVE = b"!<arch>\n"

EM_CUDA = 190
"""The machine of a cubin, in its ELF header."""

# Enough for the banner of PTX, and for what precedes the first kernel of a source.
_HEAD = 8192
_OTHERS = {
    FATBIN: "it is a fatbin: take out one architecture's image first",
    LTOIR: "it is LTO-IR: link it with nvjitlink.link, or compile without -dlto",
    ARCHIVE: "it is a static library: take out one object first",
}


def describe(data: bytes, *, wanted: str = "an ELF image with 7f 45 4c 46") -> str:
    """Return what `data` is instead of a cubin, empty where it is one; `wanted` ends the last."""
    if not data:
        return "it is empty"
    if data.startswith(ELF):
        machine = int.from_bytes(data[18:20], "little")
        if len(data) < 20:
            return f"it is truncated: {len(data)} bytes"
        if machine != EM_CUDA:
            return f"it is an ELF file for another machine ({machine}), such as a host object"
        return ""
    if looks_like_ptx(data):
        return "it is PTX text: compile with a real architecture such as sm_90, not compute_90"
    head = data[:_HEAD]
    if b"\0" not in head and b"__global__" in head:
        return "it is CUDA source: compile it first"
    other = f"it begins with {data[:8].hex(' ')}, {wanted}"
    return next((text for magic, text in _OTHERS.items() if data.startswith(magic)), other)


def is_host_elf(head: bytes) -> bool:
    """Whether what begins so is an ELF file, and no device image."""
    return head.startswith(ELF) and len(head) >= 20 and head[18:20] != EM_CUDA.to_bytes(2, "little")


def looks_like_ptx(data: bytes) -> bool:
    """Whether bytes begin as PTX does, with ``.version`` after comments."""
    head = re.sub(rb"//[^\n]*|/\*.*?(?:\*/|\Z)", b" ", data[:_HEAD], flags=re.DOTALL)
    return re.match(rb"\s*\.version\s+\d+\.\d+", head) is not None


def check_regular(path: str | os.PathLike[str]) -> None:
    """Refuse a pipe and a device, which may never end, before they are opened.

    Raises
    ------
    OSError
        It is one; or nothing is there.
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        problem = "it is no regular file: write its content to one, and name that"
        raise OSError(errno.EINVAL, problem, os.fspath(path))


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Make what a reader stumbles over in damaged bytes an `ImageError`; also a decorator."""
    try:
        yield
    except (struct.error, LookupError, OverflowError, MemoryError) as error:
        raise ImageError(f"corrupt {what}: it is truncated or damaged ({error})") from None
