"""CUDA's own headers that sources begin with, precompiled by NVRTC for the rest of the process.

NVRTC's precompiled headers are images of its memory, good for one process. It does not look whether
headers have changed, so only those of packages are precompiled, never the user's.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterator

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
_LINE = re.compile(r"^#line (\d+) ?(.*)\n", re.MULTILINE)


def compile_with(nvrtc: Nvrtc, program: Program, stop: Stop, packages: tuple[str, ...]) -> Compiled:
    """Compile a program, with precompiled headers where they are worth it.

    `packages` is how paths of this package's headers and of CUDA's begin.
    """
    end = _stable_end(program, packages) if nvrtc.version() >= (12, 8) else 0
    if end == 0:
        return nvrtc.compile(program, stop)
    # The number and name of each #line, and the text behind it.
    parts = ["1", "", *_LINE.split(program.text[:end])]
    line, prefix = int(parts[-3]) + parts[-1].count("\n"), "".join(parts[2::3])
    *_, name = ("", *filter(None, parts[1::3]))
    # NVRTC precompiles nothing where a #line comes before the end of the prefix, which is the first
    # token that is no directive: hence the semicolon.
    text = f"{prefix}\n;\n#line {line} {name}\n{program.text[end:]}"
    try:
        done = _compile(nvrtc, program._replace(text=text), stop, prefix)
    except OSError:
        return nvrtc.compile(program, stop)
    is_of_source = done.result == COMPILATION and not _BLAMED.search(done.log)
    return done if done.result == SUCCESS or is_of_source else nvrtc.compile(program, stop)


def _stable_end(program: Program, packages: tuple[str, ...]) -> int:
    """Return where the includes end that packages have; 0 where that is not worth it."""
    flags = preprocessor_flags(program.options)
    if not all(x in program.headers or x.startswith(packages) for x in flags.first):
        return 0
    # NVRTC searches the source's own folder first.
    folders = {os.path.dirname(os.path.abspath(program.name)), *flags.folders}
    own = [folder for folder in folders if not f"{folder}/".startswith(packages)]
    end, is_heavy = 0, False
    for header, behind in leading_includes(program.text):
        library = header.partition("/")[0]  # one header of a library includes others of it
        if not library or any(os.path.exists(f"{folder}/{library}") for folder in own):
            break
        end, is_heavy = behind, is_heavy or _HEAVY.match(header) is not None
    return end if is_heavy else 0


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
