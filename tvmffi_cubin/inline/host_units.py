"""The host code of a module: each unit with the compiler of its language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..host import forwarders
from ..host import units as host
from ..host.steps import Step, compilation
from ..sources.sort import HostSource
from .headers import HeaderSearch

if TYPE_CHECKING:
    from .job import Job

_FORWARDERS = "forwarders.cc"


def host_units(job: Job) -> tuple[dict[str, bytes | str], list[Step]]:
    """Return the files to write, by name, and the units that compile them."""
    request, tools, sources = job.request, job.tools, job.sources
    files: dict[str, bytes | str] = {}
    units: list[Step] = []
    own = (host.BOUND_PARAMS,) if job.plan.has_cpp_slots else ()
    by_nvcc = _by_nvcc(job)
    done = job.mixed.exported if job.mixed else ()
    exported = [export for export in job.host_functions if export[0] not in done]
    cuda_flags = (*own, *HeaderSearch(request, tools).cuda_flags)
    cflags = (*own, *request.cflags)

    def unit(
        name: str, group: Sequence[HostSource], flags: Sequence[str], exports: host.Exports
    ) -> None:
        """Add the unit that includes some sources."""
        is_cuda = name == "cuda_host"
        files.update((source.file, source.source.text) for source in group)
        if is_cuda and by_nvcc is not None:
            made = by_nvcc(f"{name}.cu")
        else:
            prefix = host.prefix(exports, *host.of_cuda(is_cuda))
            command = (*tools.compiler.command, *host.host_flags(tools, flags))
            made = compilation(f"{name}.cc", command, request.include_paths, prefix=prefix)
        files[made.inputs[0]] = host.host_unit(group, exports, is_cuda=is_cuda)
        units.append(made)

    # As in tvm-ffi: where there are C++ sources, they declare what is exported.
    if sources.cuda_host:
        unit("cuda_host", sources.cuda_host, cuda_flags, () if sources.cpp else exported)
    if sources.cpp:
        unit("cpp", sources.cpp, cflags, exported)
    units += host.file_units(
        sources.files,
        tools,
        cflags=cflags,
        cuda_flags=cuda_flags,
        include_paths=request.include_paths,
        by_nvcc=by_nvcc,
    )
    if by_nvcc is not None:
        units += _device_link(job, units)
    if _needs_forwarders(job):
        header = Path(tools.cuda_include_dirs[0], "cuda.h")
        files[_FORWARDERS] = forwarders.forwarder_unit(header)
        command = (*tools.compiler.command, *host.host_flags(tools, ("-O1",)))
        units.append(compilation(_FORWARDERS, command))
    return files, units


def _by_nvcc(job: Job) -> Callable[..., Step] | None:
    """Return how nvcc compiles a source; None where the host compiler does."""
    if job.tools.nvcc is None:
        return None
    from ..cuda import nvcc

    return partial(
        nvcc.unit,
        tools=job.tools,
        archs=job.archs,
        flags=job.request.cuda_cflags,
        include_paths=job.request.include_paths,
    )


def _device_link(job: Job, units: Sequence[Step]) -> tuple[Step, ...]:
    """Return what links the device code of separate units, where there is any."""
    from ..cuda import nvcc

    given = (x.path for x in job.request.files.binaries if not x.is_shared)
    made = (x.made for x in units if "cu" in x.command[:3])
    flags = job.request.cuda_cflags
    unit = nvcc.device_link((*made, *given), job.tools, archs=job.archs, flags=flags)
    return () if unit is None else (unit,)


def _needs_forwarders(job: Job) -> bool:
    """Whether host code may call driver functions by name."""
    request, sources = job.request, job.sources
    # Who links an object links what it calls, too.
    if not job.tools.cuda_include_dirs or request.is_object:
        return False
    if sources.cuda_host or sources.cpp or sources.files or sources.has_binaries:
        return True
    by_mixed = job.mixed and any(x.host.facts["calls_driver"] for x in job.mixed.units)
    return bool(by_mixed or request.ldflags or request.bound_params)
