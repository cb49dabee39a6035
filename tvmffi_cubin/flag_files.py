"""`FlagFiles`: the files that a build reads, or missed, because its flags name them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .flag_paths import FILE, LIBRARY, LIBRARY_FOLDER, Word, parse

__all__ = ["FlagFiles", "find"]

# Options of gcc's and clang's whose value is a file that they read.
_READING = {
    *("-fauto-profile", "-fplugin", "-fpass-plugin", "-fprofile-use", "-fprofile-instr-use"),
    *("-fprofile-list", "-fprofile-sample-use", "-fmodule-file", "-fmodule-map-file", "--config"),
    *("-frandomize-layout-seed-file", "-fsanitize-blacklist", "-fsanitize-ignorelist"),
    *("-fsanitize-coverage-allowlist", "-fsanitize-coverage-ignorelist", "-specs", "--specs"),
}
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


def find(
    flags: Iterable[str],
    *,
    folders: Iterable[str] = (),
    system_folders: Callable[[], Sequence[str]] = tuple,
) -> FlagFiles:
    """Find the objects, libraries, scripts and other files that flags name.

    A library counts in every folder where the linker may look for it, shared and static, whichever
    is taken: one that is for another machine, or shared in a static link, is passed over. Not
    found: what a script or a thin archive names.

    Parameters
    ----------
    flags : iterable of str
        With absolute paths, as `flag_paths.absolute` returns them; others are none of here.
    folders : iterable of str
        Library folders that are searched after those of the flags.
    system_folders : callable, optional
        Gives the folders that are searched last, and are asked for only where a library is named;
        what is absent there is not watched.
    """
    flags = tuple(flags)
    words = list(_words(flags, 0))
    places = [word.value for word in words if word.kind == LIBRARY_FOLDER]
    places = [folder for folder in (*places, *folders) if os.path.isabs(folder)]
    names = {name: None for word in words for name in _library_names(word)}
    system = system_folders() if names else ()
    files = dict.fromkeys(_values(flags))
    absent: dict[str, None] = {}
    for word in words:
        if word.kind == FILE:
            # A script that is not in the current folder is looked for there.
            paths = [os.path.join(folder, word.value) for folder in places] or [word.value]
            files.update((path, None) for path in paths if os.path.isfile(path))
    for name in names:
        for folder in (*places, *system):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                files[path] = None
            elif folder in places and not os.path.exists(path):
                absent[path if os.path.isdir(folder) else folder] = None
    return FlagFiles(tuple(files), tuple(absent))


def _values(flags: Iterable[str]) -> Iterator[str]:
    """Yield the files that options of compilers read."""
    for flag in flags:
        option, _, path = flag.partition("=")
        if option in _READING and os.path.isabs(path) and os.path.isfile(path):
            yield path


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
