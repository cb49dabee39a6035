"""The headers that wrappers begin with, precompiled: once a compiler, its flags and the headers.

tvm-ffi's headers take half of a wrapper's compile time, and no edit of the wrapper changes them.
The first build with a compiler and flags has them precompiled in the background; builds that follow
use the result. It is only ever a shortcut: where it cannot be made or used, a unit is compiled from
the headers themselves.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from . import pch_maker
from .cache.entry import Entry
from .cache.files import remove
from .cache.key import Key
from .cache.store import Cache
from .cache.upkeep import HEADERS, keep_newest
from .errors import BuildError
from .host.ninja import is_expressible
from .host.plan import Cxx
from .host.tools import native_cpu
from .later import Begun
from .pch import has_room

if TYPE_CHECKING:
    from .inline.tools import Toolset

__all__ = ["Precompiled", "find", "settle"]

_MOST = 4

# What puts text of its own before the headers, or may: then they do not come first any more. And
# what has an object write files where it was compiled, as the one beside the headers would.
_UNSUITED = (
    *("-include", "--include", "-imacros", "--imacros", "-x", "-Wp,", "-Xpreproc", "@"),
    *("--coverage", "-fprofile", "-ftest-coverage"),
)

_logger = logging.getLogger("tvmffi_cubin")
# The process ends after it: one that builds and ends at once would never get further.
_begun: Begun[bool] = Begun()


@dataclass(frozen=True)
class Precompiled:
    """Headers that are precompiled.

    Attributes
    ----------
    flags : tuple of str
        What makes the compiler use them, before its other flags.
    objects : tuple of str
        What is to be linked with a unit that uses them.
    dependencies : tuple of str
        The files that were read to make them, of which gcc then tells no more.
    folder : Path
        Where they lie.
    """

    flags: tuple[str, ...]
    objects: tuple[str, ...]
    dependencies: tuple[str, ...]
    folder: Path

    def apply(self, unit: Cxx) -> Cxx:
        """Return the unit compiled with them."""
        return unit._replace(flags=(*self.flags, *unit.flags))


def find(cache: Cache, tools: Toolset, unit: Cxx) -> Precompiled | None:
    """Return the precompiled headers of a unit; where there are none, begin to make them.

    Nobody waits for them: making them takes longer than a whole unit does.

    Parameters
    ----------
    cache : Cache
        What the unit is built for.
    tools : Toolset
        The tools of the build.
    unit : Cxx
        A unit that begins with its `prefix`; of one with a `common_prefix` that is precompiled
        first, and used until the whole is.
    """
    words = (*unit.command[1:], *unit.flags)
    if not unit.prefix or not pch_maker.knows(tools):
        return None
    if any(word.startswith(_UNSUITED) for word in words):
        return None
    if not is_expressible(os.fspath(cache.root)):
        return None
    # What is in the folder of the build hides no header: its names are made for it.
    folders = tuple(filter(os.path.isabs, unit.include_dirs))
    kept = Cache(cache.root / HEADERS, roots=tools.roots, mode=cache.mode)
    # The common part first: the units that come next can use it, and this one meanwhile.
    prefixes = dict.fromkeys((unit.common_prefix or unit.prefix, unit.prefix))
    parts = [unit._replace(prefix=prefix, include_dirs=folders) for prefix in prefixes]
    found = None
    for number, part in enumerate(parts, 1):
        longer = _look_up(kept, tools, part, then=parts[number:])
        if longer is None:
            break
        found = longer
    return found


def _look_up(
    kept: Cache, tools: Toolset, unit: Cxx, *, then: Sequence[Cxx] = ()
) -> Precompiled | None:
    """Return what the whole prefix of a unit was precompiled to, or begin to; others after it."""
    key = Key("precompiled headers").add("tools", tools.versions).add("text", unit.prefix)
    key.add("command", unit.command).add("flags", unit.flags).add("folders", unit.include_dirs)
    key.add("cpu", native_cpu(unit.flags))
    name = key.hexdigest()
    begun = _begun.get(name)
    if begun is not None and not begun.is_done:
        return None
    worked = begun is None or begun.result()
    entry = kept.find(name)
    if not isinstance(entry, Entry):
        if worked and kept.mode == "on" and has_room(kept.root):
            make = partial(pch_maker.make, tools=tools, unit=unit)
            after = partial(_make_ready, kept, tools, then)
            _begun.begin(name, partial(_make, kept, name, make, after), again=True)
        return None
    facts = entry.facts
    return Precompiled(
        pch_maker.flags_for(entry),
        pch_maker.objects_of(entry, facts),
        tuple(facts["dependencies"]),
        entry.path,
    )


def settle() -> None:
    """Wait for all that this process has begun to make."""
    _begun.settle()


def _make_ready(kept: Cache, tools: Toolset, units: Sequence[Cxx]) -> None:
    for number, unit in enumerate(units, 1):
        # A process that ends waits for what it has begun, and begins no more.
        if not threading.main_thread().is_alive():
            return
        try:
            found = _look_up(kept, tools, unit, then=units[number:])
        except RuntimeError:  # no thread can be started
            return
        if found is None:
            return


def _make(kept: Cache, name: str, make: pch_maker.Make, then: Callable[[], None]) -> bool:
    try:
        entry = kept.obtain(name, make, name="precompiled headers")
        keep_newest(os.fspath(kept.root), _MOST)
        then()
    except Exception as error:
        if isinstance(error, BuildError):
            remove(error.directory)
        _logger.debug("headers are not precompiled: %s", error)
        return False
    _logger.debug("headers were precompiled: %s", entry.so)
    return True
