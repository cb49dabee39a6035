"""The headers that wrappers begin with, precompiled: once a compiler, its flags and the headers.

tvm-ffi's headers take half of a wrapper's compile time, and no edit of the wrapper changes them.
The first build with a compiler and flags has them precompiled in the background; builds that follow
use the result, an entry of the cache. It is only ever a shortcut: a process that ends before it is
made neither waits for it nor leaves a compiler behind, and where it cannot be made or used, a unit
is compiled from the headers themselves.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..cache.entry import Entry, Product
from ..cache.files import remove
from ..cache.key import Key
from ..cache.store import Cache
from ..errors import BuildError
from . import build, process
from .environment import build_environment
from .include_scan import hidden_by, parse_depfile
from .plan import PRECOMPILED, BuildPlan, Cxx
from .tools import native_cpu

if TYPE_CHECKING:
    from ..inline.tools import Toolset

_MADE = f"{PRECOMPILED}.gch"
_COLD = "cold.o"
# Headers with functions of this package that are as well compiled once: see core/namespace.h.
_HAS_COLD = r"#include <(tvm/ffi/extra/cuda/|tvmffi_cubin/)"
# Those that have none.
_MIXED = "#include <tvmffi_cubin/mixed/host.h>"
# The macro with which headers only declare what the object has.
_DECLARED = "TVMFFI_CUBIN_COLD_COMPILED"

# What puts text of its own before the headers, or may: then they do not come first any more. And
# what has an object write files where it was compiled, as the one beside the headers would.
_UNSUITED = (
    *("-include", "--include", "-imacros", "--imacros", "-x", "-Wp,", "-Xpreproc", "@"),
    *("--coverage", "-fprofile", "-ftest-coverage"),
)

_logger = logging.getLogger("tvmffi_cubin")
# What this process is making, by key, and what failed, which is not tried again.
_begun: dict[str, threading.Thread] = {}


class _Found(NamedTuple):
    """Precompiled headers: what the compiler and the linker are given for them.

    `read` are the files that they were made of, of which gcc then tells no more.
    """

    flags: tuple[str, ...]
    objects: tuple[str, ...]
    read: tuple[str, ...]
    folder: Path


def run(
    plan: BuildPlan,
    directory: Path,
    files: Mapping[str, bytes | str],
    *,
    cache: Cache,
    tools: Toolset,
    use_pch: bool,
) -> list[str]:
    """Build a plan as `build.run` does, faster; return the headers that no depfile there lists.

    With `use_pch` the headers that its units begin with are taken from the cache where they are
    there precompiled, and begun to be made where they are not.
    """
    found: dict[str, _Found] = {}
    units = list(plan.units)
    for at, unit in enumerate(units if use_pch else ()):
        if isinstance(unit, Cxx) and (headers := _find(cache, tools, unit)):
            found[unit.source] = headers
            units[at] = unit._replace(flags=(*headers.flags, *unit.flags))
    objects = dict.fromkeys(path for headers in found.values() for path in headers.objects)
    link = plan.link._replace(objects=(*plan.link.objects, *objects))
    try:
        build.run(plan._replace(units=tuple(units), link=link), directory, files)
    except BuildError as error:
        # What gcc does not pass over, it dies of.
        if not found or not re.search(r"precompiled|\bPCH\b|internal compiler", error.output):
            raise
        _logger.warning("precompiled headers failed and were removed: %s", error)
        build.run(plan, directory, files)
        for headers in found.values():
            remove(headers.folder)
        return []
    return [path for headers in found.values() for path in headers.read]


def settle() -> None:
    """Wait for all that this process has begun to make."""
    for thread in list(_begun.values()):
        thread.join()


def _find(cache: Cache, tools: Toolset, unit: Cxx) -> _Found | None:
    """Return the precompiled headers of a unit; where there are none, begin to make them.

    Nobody waits for them: making them takes longer than a whole unit does.
    """
    words = (*unit.command[1:], *unit.flags)
    is_gcc = "gcc version " in tools.host.compiler
    if not (is_gcc and unit.prefix):
        return None
    if any(word.startswith(_UNSUITED) for word in words):
        return None
    # What is in the folder of the build hides no header: its names are made for it.
    unit = unit._replace(include_dirs=tuple(filter(os.path.isabs, unit.include_dirs)))
    key = Key("precompiled headers").add("tools", tools.versions).add("text", unit.prefix)
    key.add("command", unit.command).add("flags", unit.flags).add("folders", unit.include_dirs)
    name = key.add("cpu", native_cpu(unit.flags)).hexdigest()
    entry = cache.find(name)
    if not isinstance(entry, Entry):
        if name not in _begun and cache.mode == "on":
            make = partial(_make, tools=tools, unit=unit, environment=build_environment())
            thread = threading.Thread(target=_obtain, args=(cache, name, make), daemon=True)
            _begun[name] = thread
            thread.start()
        return None
    facts, folder = entry.facts, os.fspath(entry.path)
    objects = (f"{folder}/{_COLD}",) if facts["has_cold"] else ()
    # Where gcc cannot use what lies beside the header, it reads that itself.
    flags = ("-include", f"{folder}/{PRECOMPILED}")
    return _Found(flags, objects, tuple(facts["read"]), entry.path)


def _obtain(cache: Cache, name: str, make: partial[Product]) -> None:
    try:
        cache.obtain(name, make, name="precompiled headers")
        _begun.pop(name, None)
    # Whatever it is: builds go on without.
    except Exception as error:
        _logger.debug("headers are not precompiled: %s", error)


def _make(folder: Path, *, tools: Toolset, unit: Cxx, environment: Mapping[str, str]) -> Product:
    """Precompile the headers of a unit in an empty folder."""
    cold = re.search(_HAS_COLD, unit.prefix) and _MIXED not in unit.prefix
    text = f"#define {_DECLARED}\n{unit.prefix}" if cold else unit.prefix
    (folder / PRECOMPILED).write_text(text)
    # The build that somebody waits for comes first.
    command = ["nice", "-n", "10", *unit.command, *unit.flags]
    command += [word for path in unit.include_dirs for word in ("-I", path)]

    def run(*words: str) -> None:
        line = [*command, *words]
        status, output = process.run(line, environment=environment, folder=folder, is_long=True)
        if status != 0:
            # No BuildError: nobody wants to look into its folder.
            raise RuntimeError(f"exit status {status}: {' '.join(line)}\n{output}")

    run("-MD", "-MF", "headers.d", "-x", "c++-header", "-o", _MADE, PRECOMPILED)
    if cold:
        # Links drop what nothing calls.
        own = ("-ffunction-sections", "-fdata-sections", "-MD", "-MF", "cold.d")
        run(*own, "-c", "-o", _COLD, os.path.join(tools.include, "tvmffi_cubin", "cold.cc"))
    read = [path for file in folder.glob("*.d") for path in parse_depfile(file.read_text())]
    dependencies = tuple(dict.fromkeys(path for path in read if os.path.isabs(path)))
    others = (_MADE, _COLD) if cold else (_MADE,)
    return Product(
        so=PRECOMPILED,
        keep=others,
        used=others,
        dependencies=tools.unknown(dependencies),
        absent=hidden_by(unit.include_dirs, dependencies),
        outdated=tools.outdated,
        facts={"read": dependencies, "has_cold": bool(cold)},
        versions=tools.versions,
    )
