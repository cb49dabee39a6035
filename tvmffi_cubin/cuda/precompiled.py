"""CUDA's own headers that sources begin with, precompiled by NVRTC for the rest of the process.

NVRTC's precompiled headers are images of its memory, good for one process. It does not look whether
headers have changed, so only those of packages are precompiled, never the user's.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterator, Sequence
from itertools import takewhile

from .options import preprocessor_flags
from .program import COMPILATION, SIDE_BY_SIDE, SUCCESS, Compiled, Nvrtc, Program, Stop

# Where a source includes one of these, reading headers takes most of its compile time.
_HEAVY = re.compile(
    r"(?!cuda/(?:std/)?(?:version|cstdint|cstddef|climits|cfloat|limits|ptx)\Z)"
    r"(?:(?:cub|cuda|thrust)/|cooperative_groups)"
)

_MOST = 4  # each takes 50 to 150 MB of disk
_LEAST_ROOM = 512 << 20  # bytes

# That NVRTC can make or use none, for want of memory or else: it says so in a warning or an error.
_QUIET = ("-pch-messages=false", "-pch-verbose=false", "-diag-suppress=639,20283")
_BLAMED = re.compile(
    r"precompiled|\bPCH\b|unable to obtain mapped memory|temporary file", re.IGNORECASE
)

# Descriptors by options and text. The files have no names, so that they go with the process.
_made: dict[tuple[str, ...], int] = {}
_making = threading.Lock()

# White space, a comment, or a directive to the end of its line, which a comment may carry on.
_PIECE = re.compile(
    r"\s+|//[^\n]*|/\*.*?\*/"
    r"|#[ \t]*(?:include[ \t]*[<\"](?P<header>[^>\"\n]+)[>\"]|(?P<word>\w+))"
    r"(?:/\*.*?\*/|[^\n\\]|\\.)*",
    re.DOTALL,
)
_LINE = r"^#line (\d+) ?(.*)\n"


def compile_with(nvrtc: Nvrtc, program: Program, stop: Stop, packages: Sequence[str]) -> Compiled:
    """Compile a program, with precompiled headers where they are worth it.

    `packages` are the folders of this package's headers and of CUDA's.
    """
    text = program.text
    found = [*leading_includes(text)]
    if nvrtc.version() < (12, 8) or not any(_HEAVY.match(header) for header, _ in found):
        return nvrtc.compile(program, stop)
    flags = preprocessor_flags(program.options)
    # NVRTC searches the source's own folder first.
    folders = {os.path.dirname(os.path.abspath(program.name)), *flags.folders}.difference(packages)

    def is_stable(header: str) -> bool:
        # One header of a library includes others of it.
        first = header.partition("/")[0]
        return first != "" and not any(os.path.exists(f"{folder}/{first}") for folder in folders)

    stable = [*takewhile(lambda x: is_stable(x[0]), found)]
    first = (header for header in flags.first if header not in program.headers)
    has_own_first = any(not header.startswith(tuple(packages)) for header in first)
    if has_own_first or not any(_HEAVY.match(header) for header, _ in stable):
        return nvrtc.compile(program, stop)
    prefix, rest = text[: stable[-1][1]], text[stable[-1][1] :]
    line, name, start = 1, "", 0
    for mark in re.finditer(_LINE, prefix, re.MULTILINE):
        line, name, start = int(mark[1]), mark[2] or name, mark.end()
    line += prefix.count("\n", start)
    # NVRTC precompiles nothing where a #line comes before the end of the prefix, which is the first
    # token that is no directive: hence the semicolon.
    prefix = re.sub(_LINE, "", prefix, flags=re.MULTILINE)
    parted = program._replace(text=f"{prefix}\n;\n#line {line} {name}\n{rest}")
    try:
        done = _compile(nvrtc, parted, stop, prefix)
    except OSError:
        return nvrtc.compile(program, stop)
    is_of_source = done.result == COMPILATION and not _BLAMED.search(done.log)
    return done if done.result == SUCCESS or is_of_source else nvrtc.compile(program, stop)


def leading_includes(source: str) -> Iterator[tuple[str, int]]:
    """Yield the headers that are included before any code or condition.

    Only such can be precompiled. Each comes with where the line behind its directive begins.
    """
    at = 0
    while piece := _PIECE.match(source, at):
        at = piece.end()
        if piece["header"]:
            yield piece["header"], source.find("\n", at) + 1 or len(source)
        elif piece["word"] not in (None, "define", "undef", "pragma", "line"):
            return


def _compile(nvrtc: Nvrtc, program: Program, stop: Stop, prefix: str) -> Compiled:
    """Compile with the precompiled header of a prefix, which the first compilation makes."""
    import tempfile

    def with_header(option: str) -> Compiled:
        options = (*program.options, *_QUIET, option)
        return nvrtc.compile(program._replace(options=options), stop)

    ignored = "-frandom-seed", SIDE_BY_SIDE
    key = (prefix, *(x for x in program.options if not x.startswith(ignored)))
    with _making:  # NVRTC reads for one thread at a time anyway
        if key not in _made:
            with tempfile.TemporaryDirectory(prefix="tvmffi_cubin-") as folder:
                # NVRTC maps its file, and crashes where that is cut.
                if shutil.disk_usage(folder).free < _LEAST_ROOM:
                    return nvrtc.compile(program, stop)
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
