"""Paths in a caller's flags: made absolute, and the files that builds read because of them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .toolchain import HostCompiler

# Options whose value is in the same word or, with or without a second dash, in the next.
_FOLDERS = ("-iquote", "-isystem", "-isysroot", "-idirafter", "-I", "-L")
_FILES = ("-include", "-imacros", "@")
_NEXT_FOLDERS = {*(x.lstrip("-") for x in _FOLDERS), "sysroot", "library-path"}
_NEXT_FILES = {
    *("include", "imacros", "T", "script", "dT", "default-script", "version-script"),
    *("dynamic-list", "export-dynamic-symbol-list", "retain-symbols-file", "just-symbols"),
}
# The value of these is a name, or a file to write, though there may be one that is called so.
_NAMES = {"soname", "h", "u", "e", "l", "D", "U", "exclude-libs", "o", "Map", "MF"}
_LINKED = r"\.(?:l?o|obj|a|lds?|so(?:\.\d+)*)\Z"
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
        is_list = flag.startswith("-Wl,")
        words = flag[4:].split(",") if is_list else [flag]
        for index, word in enumerate(words):
            path = _complete(word, before)
            # A comma would end the word.
            words[index] = word if is_list and "," in path else path
            before = before if word == "-Xlinker" else word
        made.append(("-Wl," if is_list else "") + ",".join(words))
    return tuple(made)


def _complete(word: str, before: str) -> str:
    name = before.lstrip("-") if before.startswith("-") else ""
    option = ""
    if _is_name(word, name):
        return word
    if name not in _NEXT_FOLDERS | _NEXT_FILES:
        option = next((x for x in (*_FOLDERS, *_FILES) if word.startswith(x)), "")
        if not option and word.startswith("-"):
            option = word.partition("=")[0] + "="
    value = word[len(option) :].strip()
    # A leading "=" or "$SYSROOT" stands for a folder of the compiler's; with "-" begins an option,
    # or the rest of one that is longer than ours.
    if not value or value[0] in "=$-/":
        return word
    is_folder = option in (*_FOLDERS, "--sysroot=", "--library-path=") or name in _NEXT_FOLDERS
    is_input = bool(option) or name in _NEXT_FILES or re.search(_LINKED, value) is not None
    # A file that is not here is looked for where headers or libraries are.
    if is_folder or (is_input and os.path.isfile(value)):
        return option + os.path.abspath(value)
    return word


def _is_name(word: str, before: str) -> bool:
    own = word.lstrip("-").partition("=")[0] if word.startswith("-") else ""
    return before in _NAMES or own in _NAMES or word.startswith(("-D", "-U"))


def expanded(flags: Iterable[str], level: int = 0) -> tuple[str, ...]:
    """Return flags, and after each file of flags (``@file``) those in it."""
    return tuple(_expanded(flags, level))


def _expanded(flags: Iterable[str], level: int) -> Iterator[str]:
    for flag in flags:
        yield flag
        if flag.startswith("@") and level < _MOST_LEVELS:
            try:
                with open(flag[1:], encoding="utf-8", errors="surrogateescape") as file:
                    inner = shlex.split(file.read())
            except (OSError, ValueError):
                continue  # the compiler says what is wrong with it
            yield from _expanded(inner, level + 1)


def find_for(compiler: HostCompiler, flags: Sequence[str]) -> FlagFiles:
    """Find what flags of a compiler name, with its own library folders."""
    if not flags:
        return FlagFiles((), ())
    from .tools import library_folders

    places = os.environ.get("LIBRARY_PATH", "").split(os.pathsep)
    return find(flags, folders=places, system_folders=lambda: library_folders(compiler))


def find(
    flags: Iterable[str],
    *,
    folders: Iterable[str] = (),
    system_folders: Callable[[], Sequence[str]] = tuple,
) -> FlagFiles:
    """Find the objects, libraries, scripts and other files that flags name by absolute paths.

    A library counts in every folder where the linker may look for it, shared and static, whichever
    is taken: first those of the flags, then `folders`, then `system_folders`, which are asked for
    only where a library is named; what is absent there is not watched.
    """
    files: dict[str, None] = {}
    absent: dict[str, None] = {}
    places, libraries = [], []
    before = ""
    for flag in expanded(flags):
        for word in flag[4:].split(",") if flag.startswith("-Wl,") else (flag,):
            # Whatever the option is, a compiler that is told of a file may read it.
            path = word[word.find("/") :] if "/" in word else ""
            if path and not _is_name(word, before.lstrip("-")) and os.path.isfile(path):
                files[path] = None
            if before in ("-L", "--library-path") or word.startswith(("-L", "--library-path=")):
                places.append(path)
            elif before in ("-l", "--library"):
                libraries.append(word)
            elif match := re.match(r"(?:-l|--library=)(.+)", word):
                libraries.append(match[1])
            before = before if word == "-Xlinker" else word
    own = [x for x in (*places, *folders) if os.path.isabs(x)]
    for library in libraries:
        exact = library.removeprefix(":")
        names = [exact] if library != exact else [f"lib{library}.so", f"lib{library}.a"]
        for folder in (*own, *system_folders()):
            for path in (f"{folder}/{name}" for name in names):
                if os.path.isfile(path):
                    files[path] = None
                elif folder in own:
                    absent[path if os.path.isdir(folder) else folder] = None
    return FlagFiles(tuple(files), tuple(absent))


def incbin_files(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the files that sources may embed by ``.incbin``, and those that are not there.

    Every absolute path between quotes is one, in a text that speaks of ``incbin`` at all: macros
    make the directive of it. Relative paths would start at a folder that nobody else knows.
    """
    files: list[str] = []
    absent: list[str] = []
    for text in texts:
        for path in re.findall(r'"(/[^"\\\n]+)\\?"', text) if "incbin" in text.lower() else ():
            (files if os.path.isfile(path) else absent).append(path)
    return files, [path for path in absent if not os.path.exists(path)]
