"""`Inputs`: the files that a build read; and those that a caller's flags and sources name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ..cache.entry import Entry, Files
from ..cache.files import ABSENT

_FOLDERS = ("-I", "-L", "-iquote", "-isystem", "-idirafter")
_PATH = re.compile(rf"({'|'.join(_FOLDERS)}|-include)?(.*)", re.DOTALL)
# The value of these is a name, or a file to write, though there may be one that is called so.
_NAMES = {"soname", "h", "u", "e", "l", "x", "D", "U", "o", "Map", "MF"}


class Inputs(NamedTuple):
    """Files that a build read, or may have read, and those that it would have read instead.

    Attributes
    ----------
    read, absent : tuple of str
        Paths; a missing folder stands for all that could be in it.
    unknown : tuple of str
        Macros with arguments that name headers: which, only the preprocessor knows.
    """

    read: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @classmethod
    def of(cls, entry: Entry, roots: Mapping[str, str]) -> Inputs:
        """Return those that an entry of the cache was built from."""
        files, manifest = Files(lambda: roots), entry.manifest
        paths: dict[bool, list[str]] = {True: [], False: []}
        for name, digest in manifest["read"].items():
            paths[digest == ABSENT].append(files.path(name))
        unknown = manifest["facts"].get("unknown", ())
        return cls(tuple(paths[False]), tuple(paths[True]), tuple(unknown))


def joined(several: Iterable[Inputs]) -> Inputs:
    """Return several as one, each path once."""
    return Inputs(
        *(tuple(dict.fromkeys(chain(*parts))) for parts in zip(Inputs(), *several, strict=True))
    )


def parse_depfile(content: str) -> list[str]:
    """Return the files that a compiler has read, by the make rules that it wrote, each once."""
    found: dict[str, None] = {}
    for rule in content.replace("\\\n", " ").splitlines():
        words = re.findall(r"(?:\\[ #]|\S)+", rule)
        # Before the colon is what was made; a path may have a colon, too.
        start = next((i for i, word in enumerate(words, 1) if word.endswith(":")), len(words))
        for word in words[start:]:
            found[re.sub(r"\\([ #])", r"\1", word).replace("$$", "$")] = None
    return list(found)


# By flags and sources


def absolute(flags: Iterable[str]) -> tuple[str, ...]:
    """Return flags of gcc, clang or a linker, the relative paths in them made absolute.

    Those are header and library folders; and, where they exist, headers that come first, objects
    and libraries. What ``-Wl,`` passes on and what is in an ``@file`` stays.
    """
    made = []
    for flag, ((_, before), *_) in _split(flags):
        match = _PATH.fullmatch(flag)
        assert match is not None
        option, value = match.groups()
        is_path = (option or before) in _FOLDERS or os.path.isfile(value)
        # A leading "=" or "$SYSROOT" stands for a folder of the compiler's; with "-" begins an
        # option, or the rest of one that is longer than ours.
        if is_path and value and value[0] not in "=$-/" and before.lstrip("-") not in _NAMES:
            flag = flag.removesuffix(value) + os.path.abspath(value)
        made.append(flag)
    return tuple(made)


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
