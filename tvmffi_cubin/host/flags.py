"""Paths in a caller's flags: made absolute, and the files that builds read because of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from .inputs import Inputs

# Options whose value is a folder, or may be a file; it is in the same word or in the next.
_VALUED = re.compile(
    r"(?P<folder>-I|-L|-iquote|-isystem|-isysroot|-idirafter|--(?:sysroot|library-path)=)?"
    r"(?:-include|-imacros|-T|@|--?(?:version-script|dynamic-list|script)=)?(?P<value>.*)",
    re.DOTALL,
)
# The value of these is a name, or a file to write, though there may be one that is called so.
_NAMES = {"soname", "h", "u", "e", "l", "x", "D", "U", "o", "Map", "MF"}


def absolute(flags: Iterable[str]) -> tuple[str, ...]:
    """Return flags of gcc, clang or a linker, the relative paths in them made absolute.

    Those are header and library folders; and files that exist: headers that come first, objects,
    libraries, scripts of the linker, and files of flags (``@file``; not what is in them).
    """
    made: list[str] = []
    for flag, words in _split(flags):
        start = "-Wl," if flag.startswith("-Wl,") else ""
        made.append(start + ",".join(_absolute(word, before) for word, before in words))
    return tuple(made)


def _absolute(word: str, before: str) -> str:
    match = _VALUED.fullmatch(word)
    assert match is not None
    folder, value = match.groups()
    # A leading "=" or "$SYSROOT" stands for a folder of the compiler's; with "-" begins an option,
    # or the rest of one that is longer than ours.
    if not value or value[0] in "=$-/" or _is_name(word, before):
        return word
    option = _VALUED.fullmatch(f"{before}=" if before.startswith("--") else before)
    is_folder = folder or (option and option["folder"] and not option["value"])
    # A file that is not here is looked for where headers or libraries are.
    if not (is_folder or os.path.isfile(value)):
        return word
    return word.removesuffix(value) + os.path.abspath(value)


def _is_name(word: str, before: str) -> bool:
    own = word.lstrip("-").partition("=")[0] if word.startswith("-") else ""
    return before.lstrip("-") in _NAMES or own in _NAMES or word.startswith(("-D", "-U"))


def _split(flags: Iterable[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each flag and the words in it, those of the linker's too, with the option before."""
    before = ""
    for flag in flags:
        words = []
        for word in flag[4:].split(",") if flag.startswith("-Wl,") else (flag,):
            words.append((word, before if before.startswith("-") else ""))
            before = before if word == "-Xlinker" else word
        yield flag, words


def find_for(flags: Sequence[str]) -> Inputs:
    """Find the files that flags name by absolute paths, and libraries in the user's folders.

    Those are the folders of flags and of ``LIBRARY_PATH``; a library counts in each of them.
    """
    files: dict[str, None] = {}
    absent: dict[str, None] = {}
    folders, libraries = [], []
    for word, before in (pair for _, words in _split(flags) for pair in words):
        # Whatever the option is, a compiler that is told of a file may read it.
        path = word[word.find("/") :] if "/" in word else ""
        if path and not _is_name(word, before) and os.path.isfile(path):
            files[path] = None
        if before in ("-L", "--library-path") or word.startswith(("-L", "--library-path=")):
            folders.append(path)
        elif match := re.match(r"(?:-l|--library=)(.+)", word):
            libraries.append(match[1])
        elif before in ("-l", "--library"):
            libraries.append(word)
    folders += os.getenv("LIBRARY_PATH", "").split(":")
    for library in libraries:
        names = [library[1:]] if library[0] == ":" else [f"lib{library}.so", f"lib{library}.a"]
        for folder, name in ((folder, name) for folder in folders for name in names if folder):
            if os.path.isfile(f"{folder}/{name}"):
                files[f"{folder}/{name}"] = None
            else:
                absent[f"{folder}/{name}" if os.path.isdir(folder) else folder] = None
    return Inputs(tuple(files), tuple(absent))


def incbin_files(texts: Iterable[str]) -> Inputs:
    """Return the files that sources may embed by ``.incbin``.

    Macros may make that: in a text that speaks of it, every absolute path between quotes is one.
    """
    texts = [text for text in texts if "incbin" in text.lower()]
    found = [path for text in texts for path in re.findall(r'"(/[^"\\\n]+)\\?"', text)]
    there = tuple(path for path in found if os.path.isfile(path))
    return Inputs(there, tuple(path for path in found if not os.path.exists(path)))
