"""Headers of device sources, precompiled by NVRTC and used again while the process lives.

NVRTC's precompiled headers are images of its memory: no other process can use them. It makes and
finds them by itself, one in a folder. It does not look at the headers, whether they have changed:
so each state of the user's own has a folder, as have options and what a source begins with.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import os
import re
import threading
from collections.abc import Sequence
from pathlib import Path

from ..cache.files import remove
from ..cache.key import Key
from ..cache.record import Files
from ..host import include_scan
from .options import preprocessor_flags
from .program import COMPILATION, SUCCESS, Compiled, Nvrtc, Program, Stop, settle

# Where a source includes one of these, reading headers takes most of its compile time.
_HEAVY = re.compile(r"(?:cub|cuda|thrust)/|cooperative_groups")
_LIGHT = re.compile(r"cuda/(?:std/)?(?:version|cstdint|cstddef|climits|cfloat|limits|ptx)\Z")

# Two thirds of the time that cuda/std takes are lists of types of up to this length, which CCCL
# spells out one by one: 16 for NVRTC, 10 for nvcc. It makes no difference to what they mean.
_UNROLL = "_CCCL_META_UNROLL_LIMIT"

# Each takes 50 to 150 MB.
_MOST = 4
_LEAST_ROOM = 512 << 20  # bytes
_FOLDER = "tvmffi_cubin-nvrtc-"

# That none could be made, for want of memory or else: the source is compiled all the same.
_QUIET = ("-pch-verbose=false", "-diag-suppress=639,20283")
_MESSAGE = re.compile(r'^"[^\n]*": (creating|using) precompiled header file "[^\n]*"\n*', re.M)
# NVRTC maps a file of its own size for them, which a limit or a quota may not let it have.
_BLAMED = re.compile(r"precompiled|\bPCH\b|unable to obtain mapped memory", re.IGNORECASE)

# NVRTC reads for one thread at a time anyway.
_making = threading.Lock()

# A comment, or a directive to the end of its line, which a comment may carry on.
_PIECE = r"//[^\n]*|/\*.*?\*/|#[ \t]*(\w*)(?:/\*.*?\*/|[^\n\\]|\\.)*"


def compile_with(nvrtc: Nvrtc, program: Program, stop: Stop, packages: Sequence[str]) -> Compiled:
    """Compile a program, with precompiled headers where they are worth it.

    Its text may begin with a line of ours that gives the source its name. `packages` are
    the folders of this package's headers and of CUDA's.
    """
    name, text = "", program.text
    if text.startswith("#line 1 "):
        line, _, text = text.partition("\n")
        name = line.removeprefix("#line 1 ")
    end = prefix_end(text)
    flags = preprocessor_flags(program.options)
    folder = os.path.dirname(os.path.abspath(program.name))  # NVRTC looks there first
    # The user's headers, and those of this package, which include heavy ones.
    files = include_scan.scan(
        (flags.first_lines, text[:end]),
        [path for path in flags.folders if path not in packages],
        system_dirs=packages[:1],
        directory=folder,
        defines=flags.macros,
    ).files
    included = include_scan.names((text[:end],), files)
    if not any(_HEAVY.match(header) and not _LIGHT.match(header) for header in included):
        return nvrtc.compile(program, stop)
    if _UNROLL not in flags.macros:
        program = program._replace(options=(*program.options, f"-D{_UNROLL}=10"))
    if not end or nvrtc.version() < (12, 8):
        return nvrtc.compile(program, stop)
    contents = Files({})
    # All that decides what the headers mean.
    key = Key("headers of NVRTC").add("text", text[:end]).add("source", [program.name, folder])
    key.add("options", [x for x in program.options if not x.startswith("-frandom-seed")])
    key.add("files", [[path, contents.digest(path)] for path in files])
    try:
        with _making:
            place = _folder(os.getpid()) / key.hexdigest()
        place.mkdir(parents=True, exist_ok=True)
        is_there = any(place.iterdir())
        may_be_made = has_room(place)
    except OSError:
        may_be_made = False
    if not may_be_made:
        return nvrtc.compile(program, stop)
    # NVRTC precompiles nothing where a #line comes before the end of the prefix, which is the first
    # token that is no directive: hence the semicolon.
    lines = text.count("\n", 0, end) + 1
    parted = program._replace(
        text=f"{text[:end]}\n;\n#line {lines} {name}\n{text[end:]}",
        options=(*program.options, "-pch", f"-pch-dir={place}", *_QUIET),
    )
    with contextlib.nullcontext() if is_there else _making:
        done = nvrtc.compile(parted, stop)
    for message in _MESSAGE.finditer(done.log):
        verb = "made" if message[1] == "creating" else "used"
        logger = logging.getLogger("tvmffi_cubin")
        logger.debug("NVRTC %s a precompiled header for %s", verb, name.strip('"') or program.name)
        if verb == "made":
            _trim(place.parent)
    log = _MESSAGE.sub("", done.log).strip("\n")
    is_of_source = done.result == COMPILATION and not _BLAMED.search(log)
    if not (done.result == SUCCESS or is_of_source):
        return nvrtc.compile(program, stop)
    return done._replace(log=log)


def prefix_end(source: str) -> int:
    """Return where the line behind the last ``#include`` before any code begins.

    Only what comes before can be precompiled. 0 where there is no such line; a ``#line`` ends the
    search as well.
    """
    end = depth = 0
    has_include = False
    prefix = re.match(rf"(?:\s+|{_PIECE})*", source, re.DOTALL)
    for piece in re.finditer(_PIECE, prefix[0] if prefix else "", re.DOTALL):
        word = piece[1] or ""
        if word == "line" or word.isdigit():
            break
        depth += (word in ("if", "ifdef", "ifndef")) - (word == "endif")
        has_include = has_include or word == "include"
        # A condition that is open here belongs to what follows, as a whole.
        if has_include and depth == 0:
            end, has_include = source.find("\n", piece.end()) + 1 or len(source), False
    return end


def has_room(folder: Path) -> bool:
    """Whether there is room for one more: NVRTC maps its file, and crashes where that is cut."""
    space = os.statvfs(folder)
    return not space.f_blocks or space.f_bavail * space.f_frsize > _LEAST_ROOM


@functools.cache
def _folder(process: int) -> Path:
    """Return a process's folder, which goes with it; a forked child has its own."""
    import tempfile

    parent = Path(tempfile.gettempdir())
    for left in parent.glob(f"{_FOLDER}*"):
        owner = left.name.removeprefix(_FOLDER).partition("-")[0]
        if not os.path.exists(f"/proc/{owner}"):  # it was killed
            remove(os.fspath(left))
    folder = tempfile.mkdtemp(prefix=f"{_FOLDER}{process}-")
    atexit.register(_remove, folder, process)
    return Path(folder)


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner and settle():  # NVRTC crashes where its folder goes while it works
        remove(folder)


def _trim(folder: Path) -> None:
    """Remove all but the newest."""
    with contextlib.suppress(OSError):  # another thread may do the same
        files = sorted(folder.glob("*/*"), key=lambda path: path.stat().st_mtime_ns)
        for path in files[:-_MOST]:
            path.unlink()
