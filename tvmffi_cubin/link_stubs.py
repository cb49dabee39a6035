"""Stubs of the libraries of C++ and C, with which wrappers are linked in half the time.

They are made in the background after the first link, and tried: what is linked with them must be
what the libraries themselves give. It is only ever a shortcut: a link that fails with them is done
as if there were none.
"""

from __future__ import annotations

import contextlib
import logging
import os
import struct
import threading
from functools import partial
from pathlib import Path

from . import stub_maker
from .cache import Cache
from .command_words import is_expressible
from .entry import Entry
from .errors import BuildError, CacheError
from .host_elf import FileContent
from .imports import Imports
from .key import Key
from .later import Begun
from .library_stub import LibraryFile
from .package_folder import cache_beside
from .pch_shelf import trim
from .plan import Link, Merge
from .private_folder import remove
from .toolset import Toolset

__all__ = ["are_usable", "find", "is_exact", "make_later", "settle"]

# One set takes 200 KB; there is one for each compiler and version of this package.
_MOST = 4

_logger = logging.getLogger("tvmffi_cubin")
# The process ends after it: one that builds and ends at once would never get further.
_begun: Begun[None] = Begun()


def are_usable(link: Link | Merge, tools: Toolset) -> bool:
    """Whether a link takes the compiler's own libraries, and from where the compiler looks."""
    if not isinstance(link, Link) or not link.is_plain or link.bare or not link.no_undefined:
        return False
    return "gcc version " in tools.host.compiler and not tools.compiler.options


def find(cache: Cache, tools: Toolset) -> Entry | None:
    """Return the entry whose folder has the stubs, None where there is none."""
    try:
        entry = _kept(cache, tools).find(_key(tools))
    except (OSError, CacheError) as error:
        _logger.debug("stubs of libraries are not found: %s", error)
        return None
    if not isinstance(entry, Entry) or not is_expressible(os.fspath(entry.path)):
        return None
    # How `trim` knows which was used last.
    with contextlib.suppress(OSError):
        os.utime(entry.path)
    return entry


def make_later(cache: Cache, tools: Toolset) -> None:
    """Begin to make stubs, once a process."""
    kept, key = _kept(cache, tools), _key(tools)
    if kept.mode != "on" or not threading.main_thread().is_alive():
        return
    try:
        _begun.begin((kept.root, key), partial(_make, cache, kept, tools, key))
    except RuntimeError as error:  # no thread can be started
        _logger.debug("stubs of libraries are not made: %s", error)


def settle() -> None:
    """Wait for all that this process has begun to make."""
    _begun.settle()


def is_exact(product: Path, stubs: Entry) -> bool:
    """Whether what was linked with stubs is what the libraries themselves give.

    A weak symbol that stubs lack is no error, and would have no version.
    """
    try:
        with open(product, "rb", buffering=0) as file:
            weak = {x.name for x in Imports.of(FileContent(file.fileno())).symbols if x.is_any}
        # Those that the compiler's own objects have no library defines.
        weak = {x for x in weak if not x.startswith("_ITM_") and x != "__gmon_start__"}
        libraries = stubs.facts["libraries"] if weak else ()
        return not any(weak & LibraryFile(Path(x).read_bytes()).names for x in libraries)
    except (OSError, ValueError, KeyError, IndexError, struct.error) as error:
        _logger.debug("%s: linked anew without stubs: %s", product, error)
        return False


def _kept(cache: Cache, tools: Toolset) -> Cache:
    return cache_beside("stubs", cache, tools)


def _key(tools: Toolset) -> str:
    key = Key("link stubs").add("tools", tools.versions)
    return key.add("command", tools.compiler.command).hexdigest()


def _make(cache: Cache, kept: Cache, tools: Toolset, key: str) -> None:
    try:
        kept.obtain(key, partial(stub_maker.make, tools=tools), name="stubs of libraries")
        if kept.root != cache.root:
            trim(kept.root, keep=_MOST)
    except Exception as error:
        if isinstance(error, BuildError):
            remove(error.directory)
        _logger.debug("stubs of libraries are not made: %s", error)
