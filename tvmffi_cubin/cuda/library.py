"""One of CUDA's libraries: which build a file is, what this process has loaded, calls by ctypes."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from ..errors import CubinError, ToolchainError

if TYPE_CHECKING:
    import ctypes

# The ELF note that holds a library's build ID: sizes of name and content, type, name.
_BUILD_ID_SIZE = 20
_BUILD_ID = struct.pack("<III", 4, _BUILD_ID_SIZE, 3) + b"GNU\0"
_READ = 4096
# By path, the build that was there just before it was loaded.
_noted: dict[Path, str] = {}
_loaded: dict[Path, Library] = {}

_L = TypeVar("_L", bound="Library")


def identity(name: str, major: int, path: Path) -> str:
    """Return the build of a library, the same text on every machine; found with short reads."""
    return f"{name} {major}{_build_of(path)}"


def replacement() -> str:
    """Return what says that a library is no longer the one that was loaded; else nothing."""
    for path, build in tuple(_noted.items()):
        try:
            is_same = _build_of(path) == build
        except OSError:
            is_same = False
        if not is_same:
            return f"{path} was replaced while it was in use: start the process again"
    return ""


def load(path: Path, title: str) -> ctypes.CDLL:
    """Load a library; `title` is what messages call it.

    Raises
    ------
    ToolchainError
        It cannot be loaded.
    """
    import ctypes

    try:
        _noted.setdefault(path, _build_of(path))
        # To map 100 MB takes 20 ms, for which ctypes.CDLL would keep Python's lock.
        ctypes.CDLL(None).dlopen(os.fsencode(path), os.RTLD_NOW)
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ToolchainError(
            f"{title} could not be loaded from {path}: {error}; reinstall its wheel, run: "
            "pip install --force-reinstall 'tvmffi-cubin[cu12]' (or [cu13])"
        ) from error


class Library:
    """A library that ctypes calls; a subclass says which.

    cuda-python has both of those that are called so. Its `nvjitlink` frees the names of inputs
    that nvJitLink goes on to read, so that messages name none; its `nvfatbin` is not in the
    releases that torch asks for.
    """

    title: ClassVar[str]
    prefix: ClassVar[str]

    def __init__(self, path: Path) -> None:
        self.path = path
        self.calls = load(path, self.title)

    @classmethod
    def of(cls: type[_L], path: Path) -> _L:
        """Return the library of a path, loaded once a process."""
        found = _loaded.get(path)
        if not isinstance(found, cls):
            found = _loaded[path] = cls(path)
        return found

    def version(self) -> tuple[int, int]:
        """Return the library's version, major and minor."""
        import ctypes

        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("Version", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    def call(self, function: str, *arguments: object) -> None:
        """Call a function that is not expected to fail."""
        result = self.result(function, *arguments)
        if result != 0:
            name = f"{self.prefix}{function} of {self.path}"
            raise CubinError(f"{name} failed with error {result}")

    def result(self, function: str, *arguments: object) -> int:
        """Call a function and return its result."""
        try:
            return int(getattr(self.calls, f"{self.prefix}{function}")(*arguments))
        except AttributeError as error:
            raise ToolchainError(
                f"{self.title} could not be loaded from {self.path}: {error}"
            ) from None


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
