"""`Inputs`: the files that a build reads, including those named by a caller's flags and sources."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from ..cache.entry import Entry, Files
from ..cache.files import ABSENT

_FOLDERS = ("-I", "-L", "-iquote", "-isystem", "-idirafter")
_PATH = re.compile(rf"({'|'.join(_FOLDERS)}|-include)?(.*)", re.DOTALL)
# A name follows these, even if a file happens to be called that.
_NAMES = ("-D", "-U", "-l", "-o", "-u", "-x", "-Xlinker")
# Files that a linker writes.
_WRITTEN = r"(?m)^(?:-o|-MF|--?Map)[=\n].*$"


class Inputs(NamedTuple):
    """Files that a build read or may have read, and those that it would have read instead."""

    read: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()  # a missing folder stands for anything it could contain
    unknown: tuple[str, ...] = ()  # macros whose headers only the preprocessor can determine

    @classmethod
    def of(cls, entry: Entry, roots: Mapping[str, str]) -> Inputs:
        """Return the files that a cache entry was built from."""
        files, manifest = Files(lambda: roots), entry.manifest
        read = {files.path(name): digest for name, digest in manifest["read"].items()}
        absent = tuple(path for path, digest in read.items() if digest == ABSENT)
        there = tuple(path for path, digest in read.items() if digest != ABSENT)
        return cls(there, absent, tuple(manifest["facts"].get("unknown", ())))


def joined(several: Iterable[Inputs]) -> Inputs:
    """Merge several into one, each path once."""
    return Inputs(
        *(tuple(dict.fromkeys(chain(*parts))) for parts in zip(Inputs(), *several, strict=True))
    )


def parse_depfile(content: str) -> list[str]:
    """Return the files that a compiler has read, from the make rules it wrote, each once."""
    found: dict[str, None] = {}
    for rule in content.replace("\\\n", " ").splitlines():
        words = re.findall(r"(?:\\[ #]|\S)+", rule)
        # Targets precede the colon; a path may contain a colon, too.
        start = next((i for i, word in enumerate(words, 1) if word.endswith(":")), len(words))
        for word in words[start:]:
            found[re.sub(r"\\([ #])", r"\1", word).replace("$$", "$")] = None
    return list(found)


# From flags and sources


def absolute(flags: Iterable[str]) -> tuple[str, ...]:
    """Return flags of gcc, clang or a linker with relative paths made absolute.

    This covers header and library folders and, if they exist, ``-include`` headers, objects and
    libraries. Arguments of ``-Wl,`` and the content of an ``@file`` stay as they are.
    """
    made, before = [], ""
    for flag in flags:
        match = _PATH.fullmatch(flag)
        assert match is not None
        option, value = match.groups()
        is_path = (option or before) in _FOLDERS or (before not in _NAMES and os.path.isfile(value))
        before = flag
        # A leading "=" or "$SYSROOT" stands for a folder of the compiler's; a "-" begins an option
        # or the rest of one that is longer than ours.
        if is_path and value and value[0] not in "=$-/":
            flag = flag.removesuffix(value) + os.path.abspath(value)
        made.append(flag)
    return tuple(made)


def find_for(flags: Iterable[str]) -> Inputs:
    """Find the files that flags name by absolute paths, and libraries in the user's folders.

    The folders come from flags and ``LIBRARY_PATH``; each library is looked for in all of them.
    """
    words = [x[4:].replace(",", "\n") if x.startswith("-Wl,") else x for x in flags]
    text = re.sub(_WRITTEN, "", "\n".join(x for x in words if x != "-Xlinker"))
    # Whatever the option, a compiler may read any file that it is given.
    named = re.findall(r"(?m)^[^/\n]*(/.*)$", text)
    files = dict.fromkeys(filter(os.path.isfile, named))
    absent: dict[str, None] = {}
    folders = re.findall(r"(?m)^(?:-L|--library-path=)\n?(/.*)$", text)
    folders += os.getenv("LIBRARY_PATH", "").split(":")
    for library in re.findall(r"(?m)^(?:-l|--library=)\n?(.+)$", text):
        names = [library[1:]] if library[0] == ":" else [f"lib{library}.so", f"lib{library}.a"]
        for folder, name in ((folder, name) for folder in folders for name in names if folder):
            if os.path.isfile(f"{folder}/{name}"):
                files[f"{folder}/{name}"] = None
            else:
                absent[f"{folder}/{name}" if os.path.isdir(folder) else folder] = None
    return Inputs(tuple(files), tuple(absent))


def incbin_files(texts: Iterable[str]) -> Inputs:
    """Return the files that sources may embed with ``.incbin``.

    Macros may generate it, so in a text that mentions it, every quoted absolute path counts.
    """
    texts = [text for text in texts if "incbin" in text.lower()]
    found = [path for text in texts for path in re.findall(r'"(/[^"\\\n]+)\\?"', text)]
    there = tuple(path for path in found if os.path.isfile(path))
    return Inputs(there, tuple(path for path in found if not os.path.exists(path)))
