"""`Destination`: where a copy of what was built is put for people; the cache keeps its own."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cache.files import copy_atomically
from ..errors import CacheError
from .arguments import check_path, file_name

__all__ = ["Destination", "destination"]


@dataclass(frozen=True)
class Destination:
    """A folder, and the name of the file that is put there.

    Attributes
    ----------
    folder : str
        An absolute path.
    name : str or None
        The file's name; None where it is that of the built file.
    is_made : bool
        Whether the folder is made where there is none.
    """

    folder: str
    name: str | None
    is_made: bool

    def check(self) -> None:
        """See before a build whether its product can be put here.

        Raises
        ------
        OSError
            The folder is missing or cannot be written, or a folder is in the file's place.
        """
        if self.name is None:
            return
        path = os.path.join(self.folder, self.name)
        if os.path.isdir(path):
            raise OSError(errno.EISDIR, "output is a folder; name a file", path)
        if self.is_made:
            return
        # OSError picks the subclass by the number.
        if not os.path.lexists(self.folder):
            raise OSError(errno.ENOENT, "output's folder is missing; make it first", self.folder)
        if not os.path.isdir(self.folder):
            raise OSError(errno.ENOTDIR, "output's folder is no folder", self.folder)
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise OSError(errno.EACCES, "output's folder cannot be written", self.folder)

    def refuse(self, inputs: Iterable[str]) -> None:
        """Refuse to take the place of one of the files that are linked; raises ValueError."""
        if self.name is None:
            return
        path = os.path.join(self.folder, self.name)
        for given in inputs:
            if os.path.exists(path) and os.path.samefile(path, given):
                raise ValueError(f"output {path} is one of the sources; name another file")

    def put(self, built: Path) -> str:
        """Put a copy of a file here, in one step; return its path.

        Raises
        ------
        CacheError
            The folder that is made, `build_directory`, cannot be made or written.
        OSError
            The copy cannot be written.
        """
        target = Path(self.folder, self.name or built.name)
        try:
            if self.is_made:
                os.makedirs(self.folder, exist_ok=True)
            copy_atomically(built, target)
        except OSError as error:
            if not self.is_made:
                raise OSError(error.errno, error.strerror, os.fspath(target)) from error
            raise CacheError(
                f"cannot copy {built} to {target}: {error.strerror or error}; "
                "pass a build_directory that can be written and has room"
            ) from error
        return os.fspath(target)


def destination(output: Any, directory: str | os.PathLike[str] | None) -> Destination:
    """Return where `output` and `build_directory` want a copy; at least one is given.

    Raises
    ------
    TypeError, ValueError
        `output` is no path of a file, or both say in which folder.
    """
    if output is None:
        assert directory is not None
        return Destination(os.path.abspath(directory), None, True)
    if not isinstance(output, str | os.PathLike):
        raise TypeError(f"output is a str or a path, got {type(output).__name__}")
    path = os.fspath(output)
    if not isinstance(path, str):
        raise TypeError(f"output is a str or a path, got {type(path).__name__}")
    check_path("output", path)
    if directory is not None and os.path.isabs(path):
        raise ValueError(
            f"output {path!r} is an absolute path, and build_directory names a folder, too: "
            "leave build_directory out, or give the file's name alone"
        )
    if not path or path.endswith("/"):
        raise ValueError(f"output {path!r} names no file; give a path such as 'libk.so'")
    folder, name = os.path.split(_absolute(os.path.join(directory or "", path)))
    return Destination(folder, file_name("output", name), directory is not None)


def _absolute(path: str) -> str:
    # Taking ".." out would lead elsewhere behind a symbolic link.
    plain = ".." not in path.split("/")
    return os.path.abspath(path) if plain else os.path.join(os.getcwd(), path)
