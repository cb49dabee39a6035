"""`Place`: where a copy of what was built is put for people; the cache keeps its own."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ..cache.files import copy_atomically
from ..errors import CacheError
from .options import file_name, paths


class Place(NamedTuple):
    """A folder, and the name of the file that is put there, None for that of the built file.

    The folder `is_made` where there is none: `build_directory` is, that of `output` is not.
    """

    folder: str
    name: str | None
    is_made: bool

    def put(self, built: Path) -> str:
        """Put a copy of a file here, in one step, and return its path.

        Raises
        ------
        CacheError
            `build_directory` cannot be made or written.
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

    def refuse(self, inputs: Iterable[str]) -> None:
        """Refuse to take the place of one of the files that are linked; raises ValueError."""
        path = os.path.join(self.folder, self.name or "")
        for given in inputs:
            if os.path.exists(path) and os.path.samefile(path, given):
                raise ValueError(f"output {path} is one of the sources; name another file")


def find_place(output: Any, directory: Any) -> Place | None:
    """Return where `output` and `build_directory` want a copy, None where neither is given.

    Raises
    ------
    TypeError, ValueError
        One is no path, or both say in which folder.
    OSError
        Nothing can be put there, as far as is seen before the build.
    """
    folder = None if directory is None else _path("build_directory", directory)
    if output is None:
        return None if folder is None else Place(folder, None, True)
    path = os.fspath(_checked("output", output))
    if folder is not None and os.path.isabs(path):
        raise ValueError(
            f"output {path!r} is an absolute path, and build_directory names a folder, too: "
            "leave build_directory out, or give the file's name alone"
        )
    if not path or path.endswith("/"):
        raise ValueError(f"output {path!r} names no file; give a path such as 'libk.so'")
    path = _path("output", os.path.join(folder or "", path))
    place = Place(*os.path.split(path), folder is not None)
    file_name("output", place.name)
    if os.path.isdir(path):
        raise OSError(errno.EISDIR, "output is a folder; name a file", path)
    if folder is None and not os.path.isdir(place.folder):
        raise OSError(errno.ENOENT, "output's folder is missing; make it first", place.folder)
    return place


def _checked(what: str, value: Any) -> str | os.PathLike[str]:
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{what} is a str or a path, got {type(value).__name__}")
    return value


def _path(what: str, value: Any) -> str:
    return paths(what, _checked(what, value))[0]
