"""Precompiled headers that the builds of all tests share, whatever cache folder each has."""

from __future__ import annotations

import re
import runpy
import sys
from collections import Counter
from pathlib import Path

from tvmffi_cubin import host_pch
from tvmffi_cubin.cache.store import Cache
from tvmffi_cubin.host.plan import Cxx
from tvmffi_cubin.host_unit import host_flags
from tvmffi_cubin.inline.tools import Toolset

__all__ = ["HeaderStock"]

# Making them takes as long as three wrappers do, and most flags are those of one test or two.
_WORTH = 4

# What every wrapper's unit begins with. Of what follows few tests have the same.
_COMMON = re.compile(
    r"(?s).*?#include <tvm/ffi/function\.h>"
    r"(\n#include <cuda_runtime\.h>(\n#include <tvmffi_cubin/mixed/mixed\.h>)?)?(?=\n|\Z)"
)


class HeaderStock:
    """Wrappers' headers, precompiled for the usual flags, and for others that are asked for often.

    Attributes
    ----------
    folder : Path
        Where they are kept; other processes may share it.
    makes : bool
        Whether what is not there is made.
    genuine : callable
        `host_pch.find` itself.
    """

    def __init__(self, folder: Path, *, makes: bool = True) -> None:
        self.folder, self.makes = folder, makes
        self._asked: Counter[tuple[object, ...]] = Counter()
        self.genuine = host_pch.find

    def find(self, cache: Cache, tools: Toolset, unit: Cxx) -> host_pch.Precompiled | None:
        """Return what `host_pch.find` returns, from the stock, of the headers that all have."""
        if cache.mode != "on":
            return self.genuine(cache, tools, unit)
        common = _COMMON.match(unit.prefix)
        unit = unit._replace(prefix=common.group() if common else unit.prefix)
        kind = (unit.command, unit.flags, unit.include_dirs, unit.prefix)
        self._asked[kind] += 1
        worth = 1 if unit.flags == host_flags(tools, ()) and not unit.include_dirs else _WORTH
        mode = "on" if self.makes and self._asked[kind] >= worth else "read"
        return self.genuine(Cache(self.folder, mode=mode), tools, unit)

    def command(self, script: Path) -> list[str]:
        """Return a command that runs a script which takes headers from the stock."""
        return [sys.executable, __file__, str(self.folder), str(script)]


def main() -> None:
    """Run a script that takes headers from a stock and makes none: it would wait for those."""
    _, folder, script = sys.argv
    sys.argv[:] = [script]
    sys.path[0] = str(Path(script).parent)  # as Python has it
    host_pch.find = HeaderStock(Path(folder), makes=False).find
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
