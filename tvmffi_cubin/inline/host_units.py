"""The host code of a module: each unit compiled by the compiler for its language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..host import forwarders
from ..host import units as host
from ..host.steps import Step, compilation
from .headers import cuda_flags
from .request import Source

if TYPE_CHECKING:
    from .job import Job

_FORWARDERS = "forwarders.cc"
# Headers that nvcc includes implicitly.
_OF_CUDA = ("cuda_runtime.h", "math.h", "stdlib.h", "string.h", "time.h")
# Some compilers reject a C++ standard among the flags when compiling C, and vice versa.
_STANDARD = {"c++": r"-std=(?:c|gnu|iso9899:)\d", "c": r"-std=(?:c|gnu)\+\+"}


def add_host_units(job: Job, files: dict[str, bytes | str], units: list[Step]) -> None:
    """Add the files to write, by name, and the units that compile them."""
    request, tools, sources = job.wanted.request, job.wanted.tools, job.sources
    done = job.mixed.exported if job.mixed else ()
    exported = [export for export in job.host_functions if export[0] not in done]

    def add(language: str, group: Sequence[Source], exports: host.Exports) -> None:
        """Add the unit that includes the sources of a group."""
        is_cuda = language == "cuda"
        suffix = "cu" if is_cuda and tools.nvcc is not None else "cc"
        name = f"{'cuda_host' if is_cuda else 'cpp'}.{suffix}"
        prefix = host.prefix(exports, *(_OF_CUDA if is_cuda else ()))
        files.update((source.file, source.text) for source in group)
        files[name] = host.host_unit(prefix, group, exports)
        units.append(_unit(job, name, language, prefix=prefix))

    # As in tvm-ffi, C++ sources, if there are any, declare the exports.
    if sources.cuda_host:
        add("cuda", sources.cuda_host, () if request.cpp_sources else exported)
    if request.cpp_sources:
        add("c++", request.cpp_sources, exported)
    for i, (language, source) in enumerate(sources.files):
        units.append(_unit(job, source.name, language, name=f"file_{i}"))
    if tools.nvcc is not None:
        from ..cuda import nvcc

        given = (x.path for x in request.files.binaries if not x.is_shared)
        made = (x.made for x in units if x.command[0] == tools.nvcc.path)
        if nvcc.is_separate(request.cuda_cflags):
            command = nvcc.command(tools, request.cuda_cflags, job.wanted.archs, is_link=True)
            units.append(Step("device_link.o", command, (*made, *given)))
    if _needs_forwarders(job):
        header = Path(tools.cuda_include_dirs[0], "cuda.h")
        files[_FORWARDERS] = forwarders.forwarder_unit(header)
        command = (*tools.compiler.command, *host.host_flags(tools, ("-O1",)))
        units.append(compilation(_FORWARDERS, command))


def _unit(job: Job, source: str, language: str, *, name: str = "", prefix: str = "") -> Step:
    """Return the step that compiles a source: one with a `prefix`, or a file into `name`."""
    request, tools = job.wanted.request, job.wanted.tools
    if language == "cuda" and tools.nvcc is not None:
        from ..cuda import nvcc

        command = nvcc.command(tools, request.cuda_cflags, job.wanted.archs)
        return compilation(source, command, request.include_paths, name=name)
    own = [host.BOUND_PARAMS] if job.plan.bound(None) else []
    if language == "cuda":
        own += cuda_flags(request)
    else:
        own += (x for x in request.cflags if not re.match(_STANDARD[language], x))
    if language == "c":
        flags = ("-fPIC", "-O2", *host.header_folders(tools), *own)
        # CXX may select a C++ standard.
        words = (x for x in tools.compiler.options if not re.match(_STANDARD["c"], x))
        command = (*tools.compiler.programs, *words)
    else:
        flags = host.host_flags(tools, own)
        command = tools.compiler.command
    if name:
        command += ("-x", "c" if language == "c" else "c++")
        for header in _OF_CUDA if language == "cuda" else ():
            command += ("-include", header)
    return compilation(source, (*command, *flags), request.include_paths, name=name, prefix=prefix)


def _needs_forwarders(job: Job) -> bool:
    """Whether host code may call driver functions by name."""
    request, sources = job.wanted.request, job.sources
    # Whoever links an object also links what it calls.
    if not job.wanted.tools.cuda_include_dirs or request.is_object:
        return False
    if sources.cuda_host or request.cpp_sources or sources.files or request.files.binaries:
        return True
    by_mixed = job.mixed is not None and job.mixed.calls_driver
    return bool(by_mixed or request.ldflags or request.bound_params)
