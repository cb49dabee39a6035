"""Paths in a caller's flags: made absolute, and the files that builds read because of them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .toolchain import HostCompiler

# Options whose value is in the same word or, with or without a second dash, in the next.
_FOLDERS = ("-iquote", "-isystem", "-isysroot", "-idirafter", "-I", "-L")
_FILES = ("-include", "-imacros", "@")
_NEXT_FOLDERS = {*(x.lstrip("-") for x in _FOLDERS), "sysroot", "library-path"}
_NEXT_FILES = {"include", "imacros", "T", "script", "version-script", "dynamic-list"}
# The value of these is a name, or a file to write, though there may be one that is called so.
_NAMES = {"soname", "h", "u", "e", "l", "x", "D", "U", "exclude-libs", "o", "Map", "MF"}
# A file of flags may name itself.
_MOST_LEVELS = 8


class FlagFiles(NamedTuple):
    """Existing files that flags name, and paths that would be read instead, should they appear.

    A missing folder stands for all that could be in it.
    """

    files: tuple[str, ...]
    absent: tuple[str, ...]


def absolute(flags: Iterable[str]) -> tuple[str, ...]:
    """Return flags of gcc, clang or a linker, the relative paths in them made absolute.

    Builds run in folders of their own, while relative paths start at the current one. Those are
    header and library folders; where they are files that exist, headers that come first, objects,
    libraries, scripts of the linker, and files of flags (``@file``; not what is in them).
    """
    made, before = [], ""
    for flag in flags:
        start = "-Wl," if flag.startswith("-Wl,") else ""
        words = flag[4:].split(",") if start else [flag]
        for index, word in enumerate(words):
            path = _complete(word, before.lstrip("-") if before.startswith("-") else "")
            # A comma would end the word.
            words[index] = word if start and "," in path else path
            before = before if word == "-Xlinker" else word
        made.append(start + ",".join(words))
    return tuple(made)


def _complete(word: str, before: str) -> str:
    if _is_name(word, before):
        return word
    option = ""
    if before not in _NEXT_FOLDERS | _NEXT_FILES:
        option = next((x for x in (*_FOLDERS, *_FILES) if word.startswith(x)), "")
        if not option and word.startswith("-"):
            option = word.partition("=")[0] + "="
    value = word[len(option) :].strip()
    # A leading "=" or "$SYSROOT" stands for a folder of the compiler's; with "-" begins an option,
    # or the rest of one that is longer than ours.
    if not value or value[0] in "=$-/":
        return word
    is_folder = option in (*_FOLDERS, "--sysroot=", "--library-path=") or before in _NEXT_FOLDERS
    # A file that is not here is looked for where headers or libraries are.
    return option + os.path.abspath(value) if is_folder or os.path.isfile(value) else word


def _is_name(word: str, before: str) -> bool:
    own = word.lstrip("-").partition("=")[0] if word.startswith("-") else ""
    return before in _NAMES or own in _NAMES or word.startswith(("-D", "-U"))


def expanded(flags: Iterable[str], level: int = 0) -> Iterator[str]:
    """Yield flags, and after each file of flags (``@file``) those in it."""
    for flag in flags:
        yield flag
        if flag.startswith("@") and level < _MOST_LEVELS:
            try:
                with open(flag[1:], encoding="utf-8", errors="surrogateescape") as file:
                    inner = shlex.split(file.read())
            except (OSError, ValueError):
                continue  # the compiler says what is wrong with it
            yield from expanded(inner, level + 1)


def find_for(compiler: HostCompiler, flags: Sequence[str]) -> FlagFiles:
    """Find the objects, libraries, scripts and other files that flags name by absolute paths.

    A library counts in every folder where the linker may look for it, shared and static, whichever
    is taken: first those of the flags, then those of ``LIBRARY_PATH``, then the compiler's own, of
    which what is absent is not watched.
    """
    files: dict[str, None] = {}
    absent: dict[str, None] = {}
    own, libraries, before = [], [], ""
    for flag in expanded(flags):
        for word in flag[4:].split(",") if flag.startswith("-Wl,") else (flag,):
            # Whatever the option is, a compiler that is told of a file may read it.
            path = word[word.find("/") :] if "/" in word else ""
            if path and not _is_name(word, before.lstrip("-")) and os.path.isfile(path):
                files[path] = None
            if before in ("-L", "--library-path") or word.startswith(("-L", "--library-path=")):
                own.append(path)
            elif match := re.match(r"(?:-l|--library=)(.+)", word):
                libraries.append(match[1])
            elif before in ("-l", "--library"):
                libraries.append(word)
            before = before if word == "-Xlinker" else word
    if libraries:
        from .tools import library_folders

        own = list(filter(os.path.isabs, (*own, *os.getenv("LIBRARY_PATH", "").split(":"))))
        places = [*own, *library_folders(compiler)]
        for library in libraries:
            names = [library[1:]] if library[0] == ":" else [f"lib{library}.so", f"lib{library}.a"]
            for folder, name in ((folder, name) for folder in places for name in names):
                if os.path.isfile(f"{folder}/{name}"):
                    files[f"{folder}/{name}"] = None
                elif folder in own:
                    absent[f"{folder}/{name}" if os.path.isdir(folder) else folder] = None
    return FlagFiles(tuple(files), tuple(absent))


def incbin_files(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the files that sources may embed by ``.incbin``, and those that are not there.

    Every absolute path between quotes is one, in a text that speaks of ``incbin`` at all: macros
    make the directive of it. Relative paths would start at a folder that nobody else knows.
    """
    found = [
        path
        for text in texts
        if "incbin" in text.lower()
        for path in re.findall(r'"(/[^"\\\n]+)\\?"', text)
    ]
    files = [path for path in found if os.path.isfile(path)]
    return files, [path for path in found if not os.path.exists(path)]
