"""`members`: the files that a linker reads because a script or a thin archive names them."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from typing import BinaryIO

__all__ = ["members"]

_THIN = b"!<thin>\n"
# What begins like this holds its content itself.
_WHOLE = (b"\x7fELF", b"!<arch>\n", b"BC\xc0\xde")
# Scripts in place of libraries have a few lines.
_LONGEST = 1 << 20
_LONGEST_NAMES = 64 << 20
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_INPUT = re.compile(r"\b(?:INPUT|GROUP|STARTUP)\s*\(((?:[^()]|\([^()]*\))*)\)")
_INCLUDE = re.compile(r"\bINCLUDE\s+([^\s;]+)")
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
            if head == _THIN:
                folder = os.path.dirname(path)
                return tuple(os.path.join(folder, name) for name in _thin_names(file))
            data = head + file.read(_LONGEST)
    except OSError:
        return ()
    return tuple(_script_names(data.decode("utf-8", "surrogateescape")))


def _script_names(text: str) -> Iterator[str]:
    text = _COMMENT.sub(" ", text)
    yield from (name.strip('"') for name in _INCLUDE.findall(text))
    for inputs in _INPUT.findall(text):
        for word in re.split(r"[\s,()]+", inputs):
            name = word.strip('"')
            if name.startswith("-l") or name.endswith(_LINKED):
                yield name


def _thin_names(file: BinaryIO) -> Iterator[str]:
    names = b""
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        name, _, size, _ = _HEAD.unpack(head)
        name = name.rstrip()
        if name in (b"/", b"//", b"/SYM64/"):
            # Tables alone have a content, at even places. That of symbols may be large.
            if not size.strip().isdigit():
                return
            begin, count = file.tell(), int(size)
            if name == b"//":
                names = file.read(min(count, _LONGEST_NAMES))
            file.seek(begin + count + count % 2)
        elif name[1:].partition(b":")[0].isdigit():
            # Behind the colon is where in that file, itself an archive, the member lies.
            start = int(name[1:].partition(b":")[0])
            yield os.fsdecode(names[start:].partition(b"/\n")[0])
        else:
            yield os.fsdecode(name.rstrip(b"/"))
