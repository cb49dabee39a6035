"""The texts of one side of mixed sources, so that changes of the other side leave no trace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .cuda.nvrtc import line_directive
from .mixed_headers import MixedFile
from .sources.source import Source
from .split import CutFile, SideTexts

__all__ = [
    "headers_tell_lines",
    "moved_lines",
    "parts",
    "trimmed",
    "without_lines",
    "written_headers",
]

_OWN_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
# Macros are mostly written so; what one of a header makes of the line it is in is not known.
_MACRO = re.compile(r"\b[A-Z][A-Z0-9_]+(?=\s*\()")
# Of tvm-ffi's it is: see tvmffi_cubin/mixed/source_lines.h.
_KNOWN_MACRO = re.compile(
    r"TVM_FFI_(?:THROW|LOG_AND_THROW|I?CHECK\w*|DLL_EXPORT_TYPED_FUNC(?:_DOC)?)|TVMFFI_CUBIN_STUB"
)
_LINE = re.compile(r'#line (\d+) "((?:[^"\\]|\\.)*)"\Z')
_TELLS_LINE = re.compile(r"__LINE__|__builtin_LINE|\bassert\b|source_location")


def trimmed(cut: CutFile) -> str:
    """Return the text of a file without the blanks behind what was cut."""
    original = cut.edited.source.split("\n")
    lines = cut.edited.text.split("\n")
    if len(lines) != len(original):
        return cut.edited.text
    # Of a line that is as it was, they may be part of a string.
    pairs = zip(lines, original, strict=True)
    return "\n".join(line if line == old else line.rstrip() for line, old in pairs)


def written_headers(texts: SideTexts) -> dict[str, str]:
    """Return the headers to write: names and texts."""
    return {x.written: line_directive(x.file) + trimmed(x) for x in texts.headers}


def parts(texts: SideTexts) -> tuple[Source, ...]:
    """Return the files of one side, which say where they look for headers."""
    sources = [Source(x.edited.text, label=x.file) for x in texts.sources]
    headers = [Source(x.edited.text, x.file) for x in texts.headers]
    return (*sources, *headers)


def headers_tell_lines(files: Iterable[MixedFile]) -> bool:
    """Whether macros of the user's headers may tell in which line of a source they stand."""
    return any(_TELLS_LINE.search(file.code) for file in files if not file.is_source)


def without_lines(text: str) -> str:
    """Return a text without its blank lines, if nothing in it tells in which line it stands."""
    macros = {name for name in _MACRO.findall(text) if not _KNOWN_MACRO.fullmatch(name)}
    if macros - {*_OWN_MACRO.findall(text)} or _TELLS_LINE.search(text):
        return text
    return "\n".join(line for line in text.split("\n") if line.strip())


def moved_lines(compiled: str, now: str) -> tuple[tuple[str, int, int], ...]:
    """Return from which lines on a text stands elsewhere than another of the same `without_lines`.

    Returns
    -------
    tuple of (str, int, int)
        See `mixed_table_unit`.
    """
    rows: list[tuple[str, int, int]] = []
    shifts: dict[str, int] = {}
    for (file, old), (_, new) in zip(_placed(compiled), _placed(now), strict=True):
        if new - old != shifts.get(file, 0):
            shifts[file] = new - old
            rows.append((file, old, new - old))
    return tuple(rows)


def _placed(text: str) -> Iterator[tuple[str, int]]:
    """Yield the file and the number of each line that is not blank, but for ``#line`` itself."""
    file, number = "", 0
    for line in text.split("\n"):
        number += 1
        if match := _LINE.match(line):
            file, number = match[2], int(match[1]) - 1
        elif line.strip():
            yield file, number
