"""Precompiled headers that the builds of all tests share, whatever cache folder each has."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tvmffi_cubin import host_pch
from tvmffi_cubin.cache import Cache
from tvmffi_cubin.plan import Cxx
from tvmffi_cubin.toolset import Toolset

__all__ = ["HeaderStock"]

# Making them takes as long as three wrappers do, and most sets of flags and leading headers are
# those of one test or two.
_WORTH = 4


class HeaderStock:
    """Wrappers' headers, precompiled once they were asked for several times.

    Attributes
    ----------
    folder : Path
        Where they are kept; other processes may share it.
    genuine : callable
        `host_pch.find` itself.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._asked: Counter[tuple[object, ...]] = Counter()
        self.genuine = host_pch.find

    def find(self, cache: Cache, tools: Toolset, unit: Cxx) -> host_pch.Precompiled | None:
        """Return what `host_pch.find` returns, from the stock and not from the build's cache."""
        if cache.mode != "on":
            return self.genuine(cache, tools, unit)
        kind = (unit.command, unit.flags, unit.include_dirs, unit.prefix)
        self._asked[kind] += 1
        mode = "on" if self._asked[kind] >= _WORTH else "read"
        return self.genuine(Cache(self.folder, mode=mode), tools, unit)
