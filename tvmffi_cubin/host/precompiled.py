"""Precompiled headers for wrappers, made once per compiler, flags and headers.

tvm-ffi's headers take half of a wrapper's compile time. The first build precompiles them in the
background; later builds use the result, a cache entry. It is only a shortcut: a process that exits
neither waits for it nor leaves a compiler behind, and if it cannot be made or used, a unit is
compiled from the headers themselves.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from ..cache.entry import Entry, Product
from ..cache.files import remove
from ..cache.store import Cache
from ..config import build_environment
from ..errors import BuildError
from . import build, process
from .include_scan import looked_for
from .inputs import Inputs, joined, parse_depfile
from .steps import PRECOMPILED, Step
from .units import compilation_key

if TYPE_CHECKING:
    from ..inline.tools import Toolset

_MADE = f"{PRECOMPILED}.gch"

_logger = logging.getLogger("tvmffi_cubin")
# What this process is making, by key, and what it failed to make, which it does not retry.
_begun: dict[str, threading.Thread] = {}


def run(
    steps: Sequence[Step],
    directory: Path,
    files: Mapping[str, bytes | str],
    cache: Cache,
    tools: Toolset,
) -> Inputs:
    """Build as `build.run` does, but faster; return the headers that its depfiles do not list.

    Prefixes that are not precompiled yet are precompiled when the build is done.
    """
    found: list[Entry] = []
    missing: list[partial[None]] = []
    tried = list(steps)
    for at, step in enumerate(steps):
        entry = _find(cache, tools, step) if step.prefix else None
        if isinstance(entry, Entry):
            found.append(entry)
            # If gcc cannot use the precompiled file beside the header, it reads the header itself.
            tried[at] = step._replace(command=(*step.command, "-include", os.fspath(entry.so)))
        elif entry is not None:
            missing.append(entry)
    try:
        build.run(tried, directory, files)
    except BuildError as error:
        # What gcc does not ignore makes it fail. Other messages may name the file, too.
        if not found or not re.search(r"precompiled header|\bPCH\b|internal comp", error.output):
            raise
        _logger.warning("precompiled headers failed and were removed: %s", error)
        build.run(steps, directory, files)
        for entry in found:
            remove(entry.path)
        return Inputs()
    finally:
        for begin in missing:
            begin()
    return joined(Inputs.of(entry, tools.roots) for entry in found)


def settle() -> None:
    """Wait for everything that this process has begun to make."""
    for thread in list(_begun.values()):
        thread.join()


def _find(cache: Cache, tools: Toolset, step: Step) -> Entry | partial[None] | None:
    """Return a step's precompiled headers or, if there are none, a call that starts making them."""
    if "gcc version " not in tools.host.compiler:
        return None
    key = compilation_key("precompiled headers", step.command, tools)
    name = key.add("text", step.prefix).hexdigest()
    entry = cache.find(name)
    if isinstance(entry, Entry):
        return entry
    make = partial(_make, tools, step, build_environment())
    return partial(_begin, cache, name, make) if cache.mode == "on" else None


def _begin(cache: Cache, name: str, make: partial[Product]) -> None:
    def obtain() -> None:
        try:
            cache.obtain(name, make, name="precompiled headers")
            _begun.pop(name, None)
        # Whatever the error, builds go on without them.
        except Exception as error:
            _logger.debug("cannot precompile headers: %s", error)

    if name not in _begun:
        _begun[name] = threading.Thread(target=obtain, daemon=True)
        _begun[name].start()


def _make(tools: Toolset, step: Step, environment: Mapping[str, str], folder: Path) -> Product:
    """Precompile the headers of a step in an empty folder."""
    (folder / PRECOMPILED).write_text(step.prefix)
    # Niced, since builds that someone is waiting for come first.
    command = ["nice", "-n", "10", *step.command, "-x", "c++-header", "-MD", "-MF", "headers.d"]
    command += ["-o", _MADE, PRECOMPILED]
    status, output = process.run(command, environment=environment, folder=folder, is_long=True)
    if status != 0:
        # Not a BuildError: nobody needs to look into its folder.
        raise RuntimeError(f"exit status {status}: {' '.join(command)}\n{output}")
    listed = filter(os.path.isabs, parse_depfile((folder / "headers.d").read_text()))
    folders = [value for flag, value in pairwise(step.command) if flag == "-I"]
    found = looked_for(folders, [*listed])
    return tools.product(PRECOMPILED, found, used=(_MADE,))
