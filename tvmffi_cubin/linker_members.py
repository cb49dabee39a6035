"""`members`: the files that a linker reads because a script or a thin archive names them."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator

__all__ = ["members"]

_THIN = b"!<thin>\n"
# What begins like this holds its content itself.
_WHOLE = (b"\x7fELF", b"!<arch>\n", b"BC\xc0\xde")
# Scripts in place of libraries have a few lines.
_LONGEST = 1 << 20
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_INPUT = re.compile(r"\b(?:INPUT|GROUP)\s*\(((?:[^()]|\([^()]*\))*)\)")
# A shared library's content does not get into what is linked with it.
_LINKED = (".a", ".o")
# A member's head in an archive: its name, what does not matter, its size, two marks.
_HEAD = struct.Struct("16s32s10s2s")


def members(path: str) -> tuple[str, ...]:
    """Return what a file that a linker is given makes it read: paths, names, and ``-l`` options.

    Nothing where the file is no script or thin archive, or cannot be read.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(len(_THIN))
            if head.startswith(_WHOLE):
                return ()
            data = file.read(_LONGEST)
    except OSError:
        return ()
    if head == _THIN:
        folder = os.path.dirname(path)
        return tuple(os.path.join(folder, name) for name in _thin_names(data))
    return tuple(_script_names((head + data).decode("utf-8", "surrogateescape")))


def _script_names(text: str) -> Iterator[str]:
    for inputs in _INPUT.findall(_COMMENT.sub(" ", text)):
        for word in re.split(r"[\s,()]+", inputs):
            name = word.strip('"')
            if name.startswith("-l") or name.endswith(_LINKED):
                yield name


def _thin_names(data: bytes) -> Iterator[str]:
    names, at = b"", 0
    while at + _HEAD.size <= len(data):
        name, _, size, _ = _HEAD.unpack_from(data, at)
        name, at = name.rstrip(), at + _HEAD.size
        if name in (b"/", b"//", b"/SYM64/"):
            # Tables alone have a content, at even places.
            count = int(size) if size.strip().isdigit() else len(data)
            names = data[at : at + count] if name == b"//" else names
            at += count + count % 2
        elif name[1:].isdigit():
            yield os.fsdecode(names[int(name[1:]) :].partition(b"/\n")[0])
        else:
            yield os.fsdecode(name.rstrip(b"/"))
