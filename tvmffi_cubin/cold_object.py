"""The object of what headers only declare, kept beside the package: for new cache folders.

It is made with precompiled headers, see `pch_maker`. A build that has none yet, in a cache folder
that is new, compiles in half the time where the object is there from before.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from . import pch_maker
from .cache import Cache
from .entry import Entry
from .host_tools import native_cpu
from .key import Key
from .launcher_object import beside_package
from .pch_shelf import trim
from .plan import Cxx
from .product import Product
from .toolset import Toolset

__all__ = ["find", "keep"]

_OBJECT = "cold.o"

# One takes half a megabyte; there is one for each set of the compiler's flags.
_MOST = 8


def find(cache: Cache, tools: Toolset, unit: Cxx) -> Entry | None:
    """Return the entry of the object for a unit, None where there is none, or none is needed."""
    kept = _kept(cache, tools) if pch_maker.cold_part(unit) else None
    entry = None if kept is None else kept.find(_key(tools, unit))
    return entry if isinstance(entry, Entry) else None


def keep(cache: Cache, tools: Toolset, unit: Cxx, made: Entry) -> None:
    """Keep the object that was made with a unit's precompiled headers, if there is one.

    Raises
    ------
    OSError, CacheError
        It cannot be written.
    """
    kept = _kept(cache, tools)
    (object_file,) = pch_maker.objects_of(made) or (None,)
    if object_file is None or kept is None or kept.mode != "on":
        return
    kept.obtain(
        _key(tools, unit),
        lambda folder: _copy(folder, object_file, tools, unit, made.facts["dependencies"]),
        name=_OBJECT,
    )
    trim(kept.root, keep=_MOST)


def _kept(cache: Cache, tools: Toolset) -> Cache | None:
    return beside_package("cold", cache, tools)


def _key(tools: Toolset, unit: Cxx) -> str:
    key = Key("cold object").add("tools", tools.versions).add("part", pch_maker.cold_part(unit))
    key.add("command", unit.command).add("flags", unit.flags).add("folders", unit.include_dirs)
    return key.add("cpu", native_cpu(unit.flags)).hexdigest()


def _copy(
    folder: Path, object_file: str, tools: Toolset, unit: Cxx, dependencies: tuple[str, ...]
) -> Product:
    shutil.copyfile(object_file, os.path.join(folder, _OBJECT))
    return Product(
        so=_OBJECT,
        dependencies=tools.unknown(dependencies),
        absent=pch_maker.absent(tools, unit, dependencies),
        outdated=tools.outdated,
        facts={"dependencies": dependencies},
        versions=tools.versions,
    )
