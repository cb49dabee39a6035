"""`CudaLibrary`: one of CUDA's libraries through ctypes, loaded by path, every call checked."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from .errors import CubinError, ToolchainError
from .fork_guard import not_forking
from .library_build import note_loaded

__all__ = ["SUCCESS", "CudaLibrary"]

SUCCESS = 0

_Library = TypeVar("_Library", bound="CudaLibrary")
_loaded: dict[tuple[type, Path], Any] = {}


@dataclass(frozen=True)
class CudaLibrary:
    """A loaded library; its subclasses say which.

    Attributes
    ----------
    path : Path
        The file.
    library : ctypes.CDLL
        Its handle. ctypes releases the GIL in every call.
    title : str
        What messages call it, such as ``"NVRTC"``.
    prefix : str
        What the names of its functions begin with, such as ``"nvrtc"``.
    prototypes : mapping of str to sequence of type
        The parameters of the functions that every release has.
    """

    path: Path
    library: ctypes.CDLL

    title: ClassVar[str]
    prefix: ClassVar[str]
    prototypes: ClassVar[Mapping[str, Sequence[type]]]

    @classmethod
    def load(cls: type[_Library], path: Path) -> _Library:
        """Load the library of a path, once a process.

        Raises
        ------
        ToolchainError
            It cannot be loaded.
        """
        found: _Library | None = _loaded.get((cls, path))
        if found is None:
            found = cls(path, _open(cls, path))
            found.open_parts()
            _loaded[cls, path] = found
        return found

    def open_parts(self) -> None:
        """Load what the library opens later by name and may not find; called once, after it."""

    def version(self) -> tuple[int, int]:
        """Return the library's version, major and minor."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call(f"{self.prefix}Version", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    def call(self, function: str, *arguments: object) -> None:
        """Call a function that is not expected to fail.

        Raises
        ------
        CubinError
            It fails; with the library's own text, where it has texts.
        """
        result = getattr(self.library, function)(*arguments)
        if result != SUCCESS:
            text = self.error_text(result)
            how = f": {text}" if text else f" with error {result}"
            raise CubinError(f"{function} of {self.path} failed{how}")

    def error_text(self, result: int) -> str:
        """Return the library's own text for a result, empty where it has none."""
        get_text = getattr(self.library, f"{self.prefix}GetErrorString", None)
        if get_text is None:
            return ""
        get_text.restype = ctypes.c_char_p
        return (get_text(result) or b"").decode()

    def read(self, function: str, handle: ctypes.c_void_p) -> bytes:
        """Return what a function writes, of which another, ``<function>Size``, tells the size."""
        size = ctypes.c_size_t()
        self.call(f"{function}Size", handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        if size.value:
            self.call(function, handle, buffer)
        return buffer.raw[: size.value]


def _open(kind: type[CudaLibrary], path: Path) -> ctypes.CDLL:
    try:
        note_loaded(path)
        _map(path)
        library = ctypes.CDLL(str(path))
        for function, types in kind.prototypes.items():
            getattr(library, function).argtypes = types
    except (OSError, AttributeError) as error:
        raise ToolchainError(
            f"{kind.title} could not be loaded from {path}: {error}; reinstall its wheel, run: "
            "pip install --force-reinstall 'tvmffi-cubin[cu12]' (or [cu13])"
        ) from error
    return library


def _map(path: Path) -> None:
    # Of 100 MB that takes 20 ms, for which ctypes itself would keep all other threads waiting.
    with contextlib.suppress(AttributeError), not_forking():
        ctypes.CDLL(None).dlopen(os.fsencode(path), os.RTLD_NOW)
