"""`HostBeside`: C++ sources compiled while the mixed ones beside them are cut and compiled."""

from __future__ import annotations

import contextlib
import os
from functools import partial
from pathlib import Path

from . import host_build
from .cache.store import Cache
from .functions.exports import Exports
from .host import toolchain
from .host.plan import BuildPlan, Merge
from .job import Job
from .later import Later
from .request import Request
from .sources.reader import read
from .sources.sort import Sources
from .toolset import Toolset

__all__ = ["HostBeside"]

_OBJECT = "tvmffi_cubin.beside.o"


class HostBeside:
    """The units of a module that need nothing of its kernels, as its own build has them.

    They are compiled in the module's folder; ninja then finds them made. What fails, or turns out
    to be other units, is left to the module's own build, which says what is wrong.

    Parameters
    ----------
    request, sources, tools, cache, folder
        What is built, its sources, by what, where headers are precompiled, and the module's folder.
    """

    def __init__(
        self, request: Request, sources: Sources, tools: Toolset, cache: Cache, folder: Path
    ) -> None:
        self._later: Later[list[str]] | None = None
        flags = (*tools.options, *request.cflags)
        # Objects for the linker's optimiser cannot be merged.
        is_lto = any(flag.startswith("-flto") for flag in flags)
        if not (sources.cpp or sources.files) or request.bound_params or is_lto:
            return
        job = Job(request, tools, sources, (), Exports(_exported(request), ()))
        files, units = job.host_units()
        link = Merge(os.fspath(toolchain.find_linker()))
        plan = BuildPlan(request.name, units, link=link, output=_OBJECT)
        run = partial(host_build.run, cache=cache, tools=tools, use_pch=request.use_pch)
        self._later = Later(partial(run, plan, folder, files))

    def wait(self) -> None:
        """Return when nothing writes to the folder any longer."""
        if self._later is not None:
            with contextlib.suppress(Exception):
                self._later.result()


def _exported(request: Request) -> tuple[tuple[str, str], ...]:
    """Return what the C++ sources export, unless a kernel has its name, which is an error."""
    found = [x for source in request.cpp_sources for x in read(source.text).functions]
    defined = {function.qualified for function in found if function.defined}
    wanted = (x for x in request.functions or () if x.instances is None and x.name in defined)
    return tuple((export.name, export.doc) for export in wanted)
