"""Builds small units of host code that may use precompiled headers."""

from __future__ import annotations

import ctypes
import itertools
import os
from pathlib import Path

from tvmffi_cubin import host_build, host_pch
from tvmffi_cubin.cache.store import Cache
from tvmffi_cubin.host.plan import BuildPlan, Cxx, Link
from tvmffi_cubin.inline.tools import find_tools

PREFIX = "#include <string.h>\n#include <vector>\n"
ANSWER = 'extern "C" int answer() { return 42; }'

VALUE = """
#ifndef VALUE
#define VALUE 0
#endif
extern "C" int answer() { return VALUE; }
"""

numbers = itertools.count()


class Builder:
    """Builds small units that begin with PREFIX, each in a folder of its own."""

    def __init__(self, cache: Cache, folder: Path) -> None:
        self.cache = cache
        self.folder = folder
        self.read: list[str] = []

    def __call__(
        self,
        source=ANSWER,
        *,
        flags=(),
        include_dirs=(),
        use_pch=True,
        prefix=PREFIX,
        common_prefix="",
    ):
        tools = find_tools(needs_cuda=False)
        folder = self.folder / f"build{next(numbers)}"
        folder.mkdir()
        command = tools.compiler.command
        unit = Cxx(
            "unit.cc",
            command,
            ("-fPIC", *flags),
            tuple(map(str, include_dirs)),
            prefix,
            common_prefix,
        )
        self.read = host_build.run(
            BuildPlan("unit", (unit,), link=Link(command)),
            folder,
            {"unit.cc": f'{prefix}#line 1 "mine.cc"\n{source}'},
            cache=self.cache,
            tools=tools,
            use_pch=use_pch,
        )
        return ctypes.CDLL(os.fspath(folder / "unit.so")).answer()

    def settled(self, *args, **options):
        """Build, and wait until the headers are precompiled."""
        answer = self(*args, **options)
        host_pch.settle()
        return answer

    @property
    def kept(self) -> list[Path]:
        return list(self.cache.root.glob("headers/entries/*/*"))


def uses(caplog) -> list[str]:
    """Return "used" or "ignored" for each build since the last look."""
    words = [r.getMessage().rsplit(" ", 1)[1] for r in caplog.records if ": precompiled" in r.msg]
    caplog.clear()
    return words
