"""Precompiles the CUDA headers that sources begin with, for the rest of the process.

NVRTC's precompiled headers are images of its memory, valid in one process. NVRTC does not check
whether headers have changed, so only packages' headers are precompiled, never the user's.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from .options import read
from .program import SIDE_BY_SIDE, Compiled, Nvrtc, Program

# If a source includes one of these, parsing headers takes most of its compile time.
_HEAVY = re.compile(
    r"(?!cuda/(?:std/)?(?:version|cstdint|cstddef|climits|cfloat|limits|ptx)\Z)"
    r"(?:(?:cub|cuda|thrust)/|cooperative_groups)"
)

_MOST = 4  # each takes 50 to 150 MB of disk
_LEAST_ROOM = 512 << 20  # bytes

# NVRTC's warnings and errors when it cannot create or use a PCH, or lacks a header.
_QUIET = ("-pch-messages=false", "-pch-verbose=false", "-diag-suppress=639,20283")
_BLAMED = (
    r"(?i)precompiled|\bPCH\b|obtain mapped memory|temporary file|Command-line error|no image \("
)

# File descriptors by options. The files are unlinked, so they disappear with the process.
_made: dict[tuple[str, ...], int] = {}
_making = threading.Lock()

# White space, a comment, or a directive to the end of its line, which a comment may extend.
_PIECE = re.compile(
    r"\s+|//[^\n]*|/\*.*?\*/"
    r"|#[ \t]*(?:include[ \t]*[<\"](?P<header>[^>\"\n]+)[>\"]|pragma|line\b)"
    r"(?:/\*.*?\*/|[^\n\\]|\\.)*",
    re.DOTALL,
)


def compile_with(nvrtc: Nvrtc, program: Program, packages: Sequence[Path]) -> Compiled:
    """Compile a program, precompiling the packages' headers that it begins with."""
    with contextlib.suppress(OSError):  # too little disk space; the current folder is deleted
        is_able = packages and nvrtc.version() >= (12, 8)
        headers = [*_stable(program, tuple(map("{}/".format, packages)))] if is_able else []
        if any(map(_HEAVY.match, headers)):
            first = (f"--pre-include={header}" for header in headers)
            options = (*program.options, *first, *_QUIET)
            # The precompiled part ends at the first non-directive token, and contains no #line.
            text = f";\n#line 1\n{program.text}"
            done = _compile(nvrtc, program._replace(text=text, options=options))
            if done.image or not re.search(_BLAMED, done.log):
                return done
    return nvrtc.compile(program)


def _stable(program: Program, packages: tuple[str, ...]) -> Iterator[str]:
    """Yield the headers that a program begins with, up to the first that no package has."""
    given = [*read(program.options)]
    first = (x.value for x in given if x.name == "-include")
    if not all(x in program.headers or x.startswith(packages) for x in first):
        return
    # NVRTC first searches the source's folder or, for headers in options, the current folder.
    folders = (os.path.dirname(program.name), ".", *(x.value for x in given if x.name == "-I"))
    own = [x for x in map(os.path.abspath, folders) if not f"{x}/".startswith(packages)]
    for header in leading_includes(program.text):
        library = header.partition("/")[0]  # a library's headers include each other
        if not library or any(os.path.exists(f"{folder}/{library}") for folder in own):
            return
        yield header


def leading_includes(source: str) -> Iterator[str]:
    """Yield the headers that are included before any code, conditional or macro."""
    at = 0
    while piece := _PIECE.match(source, at):
        at = piece.end()
        if piece["header"]:
            yield piece["header"]


def _compile(nvrtc: Nvrtc, program: Program) -> Compiled:
    """Compile with a precompiled header, which the first compilation creates."""
    import tempfile

    def with_header(option: str) -> Compiled:
        return nvrtc.compile(program._replace(options=(*program.options, option)))

    key = tuple(x for x in program.options if not x.startswith(("-frandom-seed", SIDE_BY_SIDE)))
    with _making:  # NVRTC parses for one thread at a time anyway
        if key not in _made:
            with tempfile.TemporaryDirectory(prefix="tvmffi_cubin-") as folder:
                # NVRTC maps the file, and crashes if it is truncated.
                if shutil.disk_usage(folder).free < _LEAST_ROOM:
                    raise OSError(f"{folder} has too little room")
                path = os.path.join(folder, "headers.pch")
                done = with_header(f"-create-pch={path}")
                if os.path.exists(path):
                    _made[key] = os.open(path, os.O_RDONLY)
            if len(_made) > _MOST:
                os.close(_made.pop(next(iter(_made))))
            return done
        file = os.dup(_made[key])
    try:
        return with_header(f"-use-pch=/proc/self/fd/{file}")
    finally:
        os.close(file)
