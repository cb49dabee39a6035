"""`FlagFiles`: the files that a build reads, or missed, because its flags name them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .flag_paths import FILE, LIBRARY, LIBRARY_FOLDER, Word, parse

__all__ = ["FlagFiles", "find"]

# A file of flags may name itself.
_MOST_LEVELS = 8


@dataclass(frozen=True)
class FlagFiles:
    """What flags name.

    Attributes
    ----------
    files : tuple of str
        Existing files.
    absent : tuple of str
        Paths that do not exist and that might be read instead, should they appear. A missing
        folder stands for all that could be in it.
    """

    files: tuple[str, ...]
    absent: tuple[str, ...]


def find(flags: Iterable[str], *, folders: Iterable[str] = ()) -> FlagFiles:
    """Find the objects, libraries and scripts that flags of a compiler or a linker name.

    A library counts in every folder where the linker may look for it, shared and static, whichever
    is taken: one that is for another machine, or shared in a static link, is passed over. Not
    found: what lies in the system's own folders, and what a script or a thin archive names.

    Parameters
    ----------
    flags : iterable of str
        With absolute paths, as `flag_paths.absolute` returns them; others are none of here.
    folders : iterable of str
        Library folders that are searched after those of the flags.
    """
    words = list(_words(flags, 0))
    places = [word.value for word in words if word.kind == LIBRARY_FOLDER]
    places = [folder for folder in (*places, *folders) if os.path.isabs(folder)]
    files: dict[str, None] = {}
    absent: dict[str, None] = {}
    for word in words:
        if word.kind == FILE:
            # A script that is not in the current folder is looked for there.
            paths = [os.path.join(folder, word.value) for folder in places] or [word.value]
            files.update((path, None) for path in paths if os.path.isfile(path))
        for name in _library_names(word):
            for folder in places:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    files[path] = None
                elif not os.path.exists(path):
                    absent[path if os.path.isdir(folder) else folder] = None
    return FlagFiles(tuple(files), tuple(absent))


def _words(flags: Iterable[str], level: int) -> Iterator[Word]:
    for _, words in parse(flags):
        for word in words:
            yield word
            if word.option == "@" and level < _MOST_LEVELS:
                yield from _words(_flags_in(word.value), level + 1)


def _flags_in(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return shlex.split(file.read())
    except (OSError, ValueError):
        return []  # no file of flags, or one whose quotes only the compiler understands


def _library_names(word: Word) -> tuple[str, ...]:
    if word.kind != LIBRARY or not word.value:
        return ()
    if word.value.startswith(":"):
        return (word.value[1:],)
    return (f"lib{word.value}.so", f"lib{word.value}.a")
