"""Which build a library of CUDA's is: of the file, and of what this process has loaded from it."""

from __future__ import annotations

import os
import struct
from pathlib import Path

__all__ = ["library_identity", "note_loaded", "replacement"]

# The ELF note that holds a library's build ID: sizes of name and content, type, name.
_BUILD_ID_SIZE = 20
_BUILD_ID = struct.pack("<III", 4, _BUILD_ID_SIZE, 3) + b"GNU\0"
_READ = 4096
# By path, the build that was there just before it was loaded.
_loaded: dict[Path, str] = {}


def library_identity(name: str, major: int, path: Path) -> str:
    """Return the build of a library, the same text on every machine; found with short reads."""
    return f"{name} {major}{_build_of(path)}"


def note_loaded(path: Path) -> None:
    """Note which build is about to be loaded, for as long as this process lives.

    Raises
    ------
    OSError
        It cannot be read.
    """
    _loaded[path] = _build_of(path)


def replacement() -> str:
    """Return what says that a library is no longer the one that was loaded; else nothing."""
    for path, build in tuple(_loaded.items()):
        try:
            is_same = _build_of(path) == build
        except OSError:
            is_same = False
        if not is_same:
            return f"{path} was replaced while it was in use: start the process again"
    return ""


def _build_of(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        build = _build_in(os.read(descriptor, _READ))
        if not build:
            # Who makes wheels moves the notes of most NVRTCs behind all else.
            size = os.fstat(descriptor).st_size
            build = _build_in(os.pread(descriptor, _READ, max(size - _READ, 0)))
        return build or f" of {size} bytes"
    finally:
        os.close(descriptor)


def _build_in(data: bytes) -> str:
    at = data.find(_BUILD_ID)
    start = at + len(_BUILD_ID)
    return f", build {data[start : start + _BUILD_ID_SIZE].hex()}" if at >= 0 else ""
