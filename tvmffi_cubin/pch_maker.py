"""How gcc and clang precompile headers, are told to use them, and show that they did."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import include_scan
from .cache.entry import Entry, Product
from .cuda import preprocessor
from .dependencies import parse_depfile
from .errors import BuildError
from .host import process
from .host.environment import build_environment, header_folder_flags
from .host.plan import PRECOMPILED, Cxx

if TYPE_CHECKING:
    from .inline.tools import Toolset

__all__ = [
    "HEADER",
    "Make",
    "absent",
    "cold_part",
    "flags_for",
    "is_used",
    "knows",
    "make",
    "objects_of",
]

HEADER = PRECOMPILED
"""The file that stands for the headers on gcc's command line."""

Make = Callable[[Path], Product]

_GCC = f"{HEADER}.gch"
_CLANG = f"{HEADER}.pch"
_DEPFILE = "headers.d"
_COLD = "cold.o"
_COLD_DEPFILE = "cold.d"
_TRIAL = "trial.cc"

# Headers with functions of this package that are as well compiled once: see core/namespace.h.
_HAS_COLD = re.compile(r"#include <(cuda_runtime(_api)?\.h|tvm/ffi/extra/cuda/|tvmffi_cubin/)")
_MIXED = "#include <tvmffi_cubin/mixed/mixed.h>"
# Links drop what nothing calls.
_SECTIONS = ("-ffunction-sections", "-fdata-sections")
# The macro with which headers only declare what the object has.
_DECLARED = "TVMFFI_CUBIN_COLD_COMPILED"

# How much less of a processor it gets than others want: see setpriority(2).
_NICE = 10


def knows(tools: Toolset) -> bool:
    """Whether the compiler is one whose precompiled headers are known here."""
    return _made(tools) is not None


def flags_for(entry: Entry) -> tuple[str, ...]:
    """Return the flags that make the compiler use an entry."""
    if entry.so.name == _CLANG:
        return ("-include-pch", os.fspath(entry.so))
    # Where gcc cannot use what lies beside it, it reads the header itself.
    return ("-include", os.fspath(entry.path / HEADER))


def objects_of(entry: Entry, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what is to be linked with a unit that uses an entry of some facts."""
    return (os.fspath(entry.path / _COLD),) if facts["has_cold"] else ()


def is_used(depfile: Path) -> bool:
    """Whether a compilation with `flags_for` an entry has used it, by the files that it read.

    gcc lists the header where it reads it, and nothing where it uses what lies beside it. clang
    does not compile where it cannot use an entry.
    """
    read = parse_depfile(depfile.read_text(errors="surrogateescape"))
    return all(os.path.basename(path) != HEADER for path in read)


def make(folder: Path, tools: Toolset, unit: Cxx) -> Product:
    """Precompile the headers of a unit in an empty folder, and try them.

    Raises
    ------
    BuildError
        The compiler refuses to make them, or makes them and does not use them.
    """
    made = _made(tools)
    assert made is not None
    has_cold = bool(cold_part(unit))
    text = f"#define {_DECLARED}\n{unit.prefix}" if has_cold else unit.prefix
    (folder / HEADER).write_text(text)
    command = [*unit.command, *unit.flags]
    for path in unit.include_dirs:
        command += ["-I", path]
    making = [*command, "-MD", "-MF", _DEPFILE, "-x", "c++-header", "-o", made]
    if made == _CLANG:
        # Read from standard input: clang would look for a file again where it was, and this folder
        # is about to be renamed. What changed is known from digests, so that times do not matter.
        _run([*making, "-Xclang", "-fno-pch-timestamp", "-"], folder, text)
    else:
        _run([*making, HEADER], folder)
    entry = Entry(folder, folder / made)
    (folder / _TRIAL).write_text("\n")
    trial = ["-MD", "-MF", f"{_TRIAL}.d", "-c", "-o", f"{_TRIAL}.o", _TRIAL]
    output = _run([*unit.command, *flags_for(entry), *command[len(unit.command) :], *trial], folder)
    if not is_used(folder / f"{_TRIAL}.d"):
        raise _refusal(command, "the compiler does not use what it made", output, folder)
    read = parse_depfile((folder / _DEPFILE).read_text(errors="surrogateescape"))
    if has_cold:
        source = os.path.join(tools.include, "tvmffi_cubin", cold_part(unit))
        made_of = [*_SECTIONS, "-MD", "-MF", _COLD_DEPFILE, "-c", "-o", _COLD, source]
        _run([*command, *made_of], folder)
        read += parse_depfile((folder / _COLD_DEPFILE).read_text(errors="surrogateescape"))
    dependencies = tuple(dict.fromkeys(path for path in read if path != HEADER))
    if not all(map(os.path.isabs, dependencies)):
        raise _refusal(command, "a header is found relative to the build folder", "", folder)
    others = (HEADER, _COLD) if has_cold else (HEADER,)
    return Product(
        so=made,
        keep=others,
        used=others,
        dependencies=tools.unknown(dependencies),
        absent=absent(tools, unit, dependencies),
        outdated=tools.outdated,
        facts={"dependencies": dependencies, "has_cold": has_cold},
        versions=tools.versions,
    )


def _made(tools: Toolset) -> str | None:
    if "clang version " in tools.host.compiler:
        return _CLANG
    return _GCC if "gcc version " in tools.host.compiler else None


def cold_part(unit: Cxx) -> str:
    """Return the source of the object that a unit needs whose headers only declare it; or ''."""
    if not _HAS_COLD.search(unit.prefix):
        return ""
    return "mixed/cold.cc" if _MIXED in unit.prefix else "cold.cc"


def absent(tools: Toolset, unit: Cxx, read: Iterable[str]) -> tuple[str, ...]:
    """Return where the user's folders would hide one of the headers, should it appear there."""
    own = {*tools.package_roots.values(), *tools.cuda_include_dirs}
    flags = (*tools.options, *unit.flags, *header_folder_flags())
    folders = (*preprocessor.parse(flags).folders, *unit.include_dirs)
    others = [x for x in folders if x not in own and not x.startswith(f"{tools.include}/")]
    return include_scan.hidden_by(list(dict.fromkeys(filter(os.path.isabs, others))), read)


def _run(command: Sequence[str], folder: Path, text: str = "") -> str:
    # The build that somebody waits for comes first.
    status, output = process.run(
        command,
        environment=build_environment(),
        folder=folder,
        text=text,
        is_long=True,
        niceness=_NICE,
    )
    if status != 0:
        raise _refusal(command, f"exit status {status}", output, folder)
    return output


def _refusal(command: Sequence[str], reason: str, output: str, folder: Path) -> BuildError:
    return BuildError(
        f"headers cannot be precompiled: {reason}: {' '.join(command)}\n{output}",
        command=" ".join(command),
        output=output,
        directory=os.fspath(folder),
    )
