"""The object that every generated launcher links: compiled once a toolchain, then kept."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from . import toolchain
from .cache import Cache
from .dependencies import parse_depfile
from .entry import Entry, Product
from .environment import build_environment
from .errors import BuildError
from .key import Key
from .toolset import Toolset

__all__ = ["OBJECT", "home", "launcher_flags", "obtain", "own_headers"]

OBJECT = "launcher.o"
_DEPFILE = "launcher.d"


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
    """Return what a launcher's unit read of the headers in `tools.roots`.

    The C library's are left out: a launcher uses little of it and nothing that changes, and every
    file here is looked at on every cache hit.
    """
    roots = tuple(f"{folder}/" for folder in tools.roots.values())
    read = parse_depfile(depfile.read_text(errors="surrogateescape"))
    return [path for path in map(os.path.normpath, read) if path.startswith(roots)]


def home(cache: Cache, tools: Toolset) -> Cache:
    """Return the cache that the object is kept in.

    Like Python's bytecode it belongs to the installed package and lies beside it, so that a new
    cache folder does not mean compiling it again; where the package cannot be written, in `cache`.
    """
    package = os.path.dirname(os.path.abspath(__file__))
    folder = os.path.join(package, "__pycache__")
    if os.access(folder if os.path.isdir(folder) else package, os.W_OK | os.X_OK):
        return Cache(Path(folder, "launcher"), roots=tools.roots)
    return cache


def obtain(cache: Cache, tools: Toolset) -> Entry:
    """Return the entry of the object, compiling it where there is none.

    Raises
    ------
    BuildError
        It does not compile.
    ToolchainError
        There is no assembler.
    """
    key = Key("launcher object").add("tools", tools.versions)
    kept = home(cache, tools)
    return kept.obtain(key.hexdigest(), lambda folder: _compile(folder, tools))


def _compile(folder: Path, tools: Toolset) -> Product:
    # A compiler that has no assembler fails too, but does not say which package to install.
    toolchain.find_assembler()
    source = os.path.join(tools.include, "tvmffi_cubin", "launcher", "launcher.cc")
    command = [
        *tools.compiler.command,
        *launcher_flags(tools, optimize="-O2"),
        *("-MD", "-MF", _DEPFILE, "-c", "-o", OBJECT, source),
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=build_environment(),
        check=False,
    )
    output = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0 or not os.path.exists(folder / OBJECT):
        raise BuildError(
            f"the launcher does not compile with {' '.join(tools.compiler.command)}:\n{output}\n"
            "a C++17 compiler is needed: set CXX to one",
            command=shlex.join(command),
            output=output,
            directory=os.fspath(folder),
        )
    dependencies = own_headers(folder / _DEPFILE, tools)
    return Product(
        so=OBJECT,
        dependencies=tuple(dependencies),
        facts={"dependencies": dependencies},
        versions=tools.versions,
    )
