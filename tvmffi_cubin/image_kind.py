"""Tells a cubin from what is often handed over in its place, by the first bytes."""

from __future__ import annotations

from .ptx import looks_like_ptx

__all__ = ["ARCHIVE", "ELF", "EM_CUDA", "FATBIN", "LTOIR", "describe"]

# The first bytes of each.
ELF = b"\x7fELF"
FATBIN = b"\x50\xed\x55\xba"
LTOIR = b"\xed\x43\x4e\x7f"
ARCHIVE = b"!<arch>\n"

# The machine of a cubin, in its ELF header.
EM_CUDA = 190
_HEADER_SIZE = 64
# Enough for the includes and the types that come before the first kernel.
_HEAD_SIZE = 8192

_MAGICS = (
    (FATBIN, "it is a fatbin: take out one architecture's image first"),
    (
        b"\xb1\x43\x62\x46",
        "it is a fatbin wrapper, which points to a fatbin in memory: take that one",
    ),
    (
        LTOIR,
        "it is LTO-IR: link it with nvjitlink.link, or compile without -dlto",
    ),
    (b"BC\xc0\xde", "it is LLVM bitcode: compile it to a cubin first"),
    (b"\x1f\x8b", "it is gzip-compressed: decompress it first"),
    (b"\x28\xb5\x2f\xfd", "it is zstd-compressed: decompress it first"),
    (b"PK\x03\x04", "it is a zip archive"),
    (ARCHIVE, "it is a static library: take out one object first"),
)


def describe(data: bytes, *, wanted: str = "an ELF image with 7f 45 4c 46") -> str:
    """Return what `data` is instead of a 64-bit CUDA ELF image; empty where it is one.

    Parameters
    ----------
    data : bytes
        The content of a file.
    wanted : str
        What begins otherwise than bytes of which nothing is known.
    """
    if not data:
        return "it is empty"
    for magic, text in _MAGICS:
        if data.startswith(magic):
            return text
    if data.startswith(ELF):
        return _describe_elf(data)
    if looks_like_ptx(data):
        return "it is PTX text: compile with a real architecture such as sm_90, not compute_90"
    head = data[:_HEAD_SIZE]
    if b"\0" not in head and b"__global__" in head:
        return "it is CUDA source: compile it first"
    return f"it begins with {data[:8].hex(' ')}, {wanted}"


def _describe_elf(data: bytes) -> str:
    if len(data) < _HEADER_SIZE:
        return f"it is truncated: {len(data)} bytes, an ELF header alone has {_HEADER_SIZE}"
    machine = int.from_bytes(data[18:20], "little" if data[5] == 1 else "big")
    if machine != EM_CUDA:
        return f"it is an ELF file for another machine ({machine}), such as a host object or .so"
    if data[4] != 2 or data[5] != 1:
        return "it is not a 64-bit little-endian ELF image"
    return ""
