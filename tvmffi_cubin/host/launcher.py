"""The launcher's body: the object that every generated launcher links.

Wheels contain it. Other installations compile it once and keep a copy beside the package, as Python
keeps bytecode, so that a new cache folder does not mean compiling it again.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..cache.entry import Key, Product
from ..cache.files import digest_of, file_digest, remember, write_atomically
from ..cache.store import Cache
from .steps import Step

if TYPE_CHECKING:
    from ..inline.tools import Toolset

_PACKAGE = Path(__file__).parents[1]
SHIPPED = (_PACKAGE / "launcher", _PACKAGE / "__pycache__" / "launcher")
"""Folders that may hold the object, named by machine, and the digest of it and its headers."""

OBJECT = "launcher.o"
_HEADERS = ("tvmffi_cubin", "tvmffi_cubin/core", "tvmffi_cubin/launcher")


def obtain(cache: Cache, tools: Toolset) -> str:
    """Return the path of the body's object: the package's own, or else one compiled once."""
    if (path := shipped(tools.include)) is not None:
        return path
    tools.compiler.require()
    headers = headers_digest(tools.include)
    # The code that generates text does not affect the object.
    made_with = {name: x for name, x in tools.versions.items() if name != "own_files"}
    key = Key("launcher's body").add("tools", made_with).add("headers", headers)
    entry = cache.obtain(key.hexdigest(), lambda folder: _make(folder, tools), name=OBJECT)
    with contextlib.suppress(OSError):
        copy = SHIPPED[-1] / f"{os.uname().machine}.o"
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(os.fspath(copy), entry.so.read_bytes())
        digest = headers_digest(tools.include, copy)
        write_atomically(os.fspath(copy.with_suffix(".txt")), digest.encode())
    return os.fspath(entry.so)


def shipped(include: Path) -> str | None:
    """Return the path of the package's object, or None if damaged or for other headers."""
    for folder in SHIPPED:
        path = folder / f"{os.uname().machine}.o"
        with contextlib.suppress(OSError):
            if path.with_suffix(".txt").read_text() == headers_digest(include, path):
                return os.fspath(path)
    return None


def headers_digest(include: Path, *made: Path) -> str:
    """Return the digest of the body's headers, and of files built from them."""
    paths = [path for folder in _HEADERS for path in sorted((include / folder).glob("*.*"))]
    paths += made
    question = "\n".join(map(str, ("launcher's headers", *paths)))
    return str(remember(question, lambda: (digest_of([*map(file_digest, paths)]), paths)))


def compilation(
    compiler: tuple[str, ...],
    includes: tuple[Path | str, ...],
    cuda: str,
    machine: str = os.uname().machine,
) -> Step:
    """Return the step that compiles the body, without exceptions and without a C++ library."""
    flags = ["-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti"]
    if machine == "aarch64":  # else they call libgcc, which ld does not link
        flags.append("-mno-outline-atomics")
    folders = (*(f"-I{folder}" for folder in includes), f"-isystem{cuda}")
    command = (*compiler, *flags, "-w", *folders, "-c")
    return Step(OBJECT, command, (f"{includes[0]}/tvmffi_cubin/launcher/launcher.cc",))


def merge_command(compiler: tuple[str, ...], include: Path) -> list[str]:
    """Return the command that turns the object into ``merged.o``, which links in half the time."""
    script = f"-Wl,-T,{include}/tvmffi_cubin/launcher/launcher.ld"
    flags = ("-r", "-nostdlib", "-Wl,--force-group-allocation", script)
    return [*compiler, *flags, "-o", "merged.o", OBJECT]


def _make(folder: Path, tools: Toolset) -> Product:
    from . import build, process

    compiler, includes = tools.compiler.command, (tools.include, tools.tvm_ffi.include)
    build.run([compilation(compiler, includes, tools.cuda_include_dirs[0])], folder, {})
    # If the linker cannot do this, the object stays as it is.
    command = merge_command(compiler, tools.include)
    process.run(command, folder=folder)
    with contextlib.suppress(FileNotFoundError):
        os.replace(folder / "merged.o", folder / OBJECT)
    return tools.product(OBJECT)
