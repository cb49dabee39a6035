"""`HeaderCode`: whether the user's headers have kernels and launches, where sources may not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .facts import read
from .source import Source

if TYPE_CHECKING:
    from ..inline.request import Request

_KERNEL = "__global__"
# A macro that stands for the word, or for a whole kernel; lines may be continued.
_MACRO = rf"(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)(?:[^\n\\]|\\.|\\\n)*?\b{_KERNEL}\b"


class HeaderCode(NamedTuple):
    """What the user's headers that sources include have."""

    # Macros that only give the word a meaning, as headers for other compilers have them, are none.
    kernels: bool = False
    launches: bool = False  # in host functions


def header_code(sources: Sequence[Source], request: Request) -> HeaderCode:
    """Return what is in the headers that sources include, directly or not, in any branch."""
    has_includes = request.cuda_cflags or any("include" in source.text for source in sources)
    if not (sources and has_includes):
        return HeaderCode()
    from ..cuda.options import preprocessor_flags
    from ..host import include_scan

    flags = preprocessor_flags(request.cuda_cflags)
    texts: dict[str, str] = {}
    for source in sources:
        found = include_scan.scan(
            (flags.first_lines, source.text),
            (*flags.folders, *request.include_paths, *source.further_folders),
            directory=source.folder,
            defines=flags.macros,
        )
        texts.update((path, _text(path)) for path in found.read if path not in texts)
    own = (re.findall(_MACRO, text) for text in texts.values() if _KERNEL in text)
    names = {_KERNEL}.union(*own)
    kernel = re.compile(rf"\b(?:{'|'.join(names)})\b")
    return HeaderCode(
        any(kernel.search(text) and names & read(text).words for text in texts.values()),
        any(
            "<<<" in text and any(launch.in_host for launch in read(text).launches)
            for text in texts.values()
        ),
    )


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""  # the compilers say what is wrong with it
