"""The object that every generated launcher links: compiled once a toolchain, then kept."""

from __future__ import annotations

import logging
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from . import tool_process, toolchain
from .cache import Cache
from .cuda.parallel import in_parallel
from .dependencies import parse_depfile
from .entry import Entry
from .environment import build_environment
from .errors import BuildError
from .key import Key
from .observer import Observer
from .package_folder import cache_beside
from .product import Product
from .toolset import Toolset

__all__ = ["home", "launcher_flags", "obtain", "own_headers"]

# What a compiler's words mean, the first that is found. Of those that it says where it refuses the
# source, the language is too old for it; all else has causes of its own: limits, memory, disk.
_REMEDIES = (
    (
        re.compile(r"cannot execute|error trying to exec"),
        "the C++ compiler is not installed in full: apt install g++ (or: conda install -c "
        "conda-forge gxx), or set CXX to another",
    ),
    (
        re.compile(r"fatal error: .*(No such file|file not found)"),
        "a header is missing: install the package that has it (the C library's: apt install "
        "libc6-dev; or: conda install -c conda-forge gxx)",
    ),
    (
        re.compile(r"c\+\+17|:\d+:\d+: error: ", re.IGNORECASE),
        "a C++17 compiler is needed: set CXX to one",
    ),
)
_NOT_THE_SOURCE = (
    "the compiler itself failed, for the reason that it gives above: look at this process's limits "
    "(ulimit -a), at memory and at the disk's room, or set CXX to another compiler"
)

_logger = logging.getLogger("tvmffi_cubin")


def launcher_flags(tools: Toolset, *, optimize: str) -> tuple[str, ...]:
    """Return the compiler flags of a launcher: neither exceptions nor a C++ library are in it."""
    return (
        "-std=c++17",
        optimize,
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-exceptions",
        "-fno-rtti",
        "-w",
        *(f"-I{folder}" for folder in (tools.include, tools.tvm_ffi.include)),
        *(f"-isystem{folder}" for folder in tools.cuda_include_dirs[:1]),
    )


def own_headers(depfile: Path, tools: Toolset) -> list[str]:
    """Return what a launcher's unit read of the headers of packages.

    The C library's are left out: a launcher uses little of it and nothing that changes, and every
    file here is looked at on every cache hit.
    """
    read = parse_depfile(depfile.read_text(errors="surrogateescape"))
    observer = Observer(tools.package_roots)
    return [x for x in map(os.path.normpath, read) if observer.portable(x).startswith("$")]


def home(cache: Cache, tools: Toolset) -> Cache:
    """Return the cache that the object is kept in.

    Like Python's bytecode it belongs to the installed package and lies beside it, so that a new
    cache folder does not mean compiling it again; where the package cannot be written, in `cache`.
    """
    return cache_beside("launcher", cache, tools)


def obtain(cache: Cache, tools: Toolset, *, part: str = "launcher") -> Entry:
    """Return the entry of the object, compiling it where there is none.

    `part` is the name of its source: ``"launcher"``, or ``"image_file"``, which those link in
    addition whose images lie in files.

    Raises
    ------
    BuildError
        It does not compile.
    ToolchainError
        There is no assembler.
    """
    key = Key("launcher object").add("tools", tools.versions).add("part", part)
    kept = home(cache, tools)
    return kept.obtain(
        key.hexdigest(), lambda folder: _compile(folder, tools, part), name=f"{part}.o"
    )


@dataclass(frozen=True)
class _Unit:
    """A source in launcher/, and the flags that are its own."""

    stem: str
    flags: tuple[str, ...]

    @property
    def object(self) -> str:
        return f"{self.stem}.o"

    @property
    def depfile(self) -> str:
        return f"{self.stem}.d"


# Functions marked cold are in launcher.o alone.
_DECLARED, _KEPT = "-DTVMFFI_CUBIN_COLD_COMPILED", "-DTVMFFI_CUBIN_COLD_KEPT"
# Compiled side by side and merged. In this order: of an inline function that both have, linkers
# keep the first.
_UNITS = {
    "launcher": (_Unit("hot", ("-O2", _DECLARED)), _Unit("cold", ("-Os", _KEPT))),
    "image_file": (_Unit("image_file", ("-Os", _DECLARED)),),
}
_WHOLE = _Unit("launcher", ("-O2", _KEPT))


def _compile(folder: Path, tools: Toolset, part: str) -> Product:
    # A compiler that has no assembler fails too, but does not say which package to install.
    toolchain.find_assembler()
    made = f"{part}.o"
    units = _UNITS[part]
    in_parallel(partial(_compile_unit, folder, tools), units)
    if len(units) > 1 and not _merge(folder, tools, units, made):
        units = (_WHOLE,)
        _compile_unit(folder, tools, _WHOLE)
    read = [path for unit in units for path in own_headers(folder / unit.depfile, tools)]
    dependencies = list(dict.fromkeys(read))
    return Product(
        so=made,
        dependencies=tools.unknown(dependencies),
        outdated=tools.outdated,
        facts={"dependencies": dependencies},
        versions=tools.versions,
    )


def _compile_unit(folder: Path, tools: Toolset, unit: _Unit) -> None:
    source = os.path.join(tools.include, "tvmffi_cubin", "launcher", f"{unit.stem}.cc")
    command = [
        *tools.compiler.command,
        *launcher_flags(tools, optimize=unit.flags[0]),
        *unit.flags[1:],
        *("-MD", "-MF", unit.depfile, "-c", "-o", unit.object, source),
    ]
    status, output = tool_process.run(command, environment=build_environment(), folder=folder)
    if status != 0 or not os.path.exists(folder / unit.object):
        said = output.strip() or "it printed nothing"
        raise BuildError(
            f"the launcher does not compile with {' '.join(tools.compiler.command)} (exit status "
            f"{status}):\n{said}\n{_remedy(output)}",
            command=shlex.join(command),
            output=output,
            directory=os.fspath(folder),
        )


def _merge(folder: Path, tools: Toolset, units: Sequence[_Unit], made: str) -> bool:
    """Make one object of the units'; False where the compiler cannot."""
    objects = (unit.object for unit in units)
    # Not ld itself: which linker goes with the objects, and how it is told, the compiler knows.
    command = [*tools.compiler.command, "-r", "-nostdlib", "-o", made, *objects]
    status, output = tool_process.run(command, environment=build_environment(), folder=folder)
    if status != 0:
        _logger.debug("the launcher is compiled in one: %s: %s", shlex.join(command), output)
    return status == 0 and os.path.exists(folder / made)


def _remedy(output: str) -> str:
    return next((text for words, text in _REMEDIES if words.search(output)), _NOT_THE_SOURCE)
