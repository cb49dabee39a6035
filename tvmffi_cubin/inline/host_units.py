"""`HostUnits`: the host code of a module, each unit with the compiler of its language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..host import forwarders
from ..host import units as host
from ..host.plan import Cxx, Unit, object_name
from ..sources.sort import HostSource, Sources
from .headers import HeaderSearch
from .request import Request
from .tools import Toolset

_FORWARDERS = "forwarders.cc"


class HostUnits(NamedTuple):
    """The host code of a request.

    `exported` are the C++ functions that are yet to be exported, with docstrings; `has_slots` says
    whether parameters are bound, and `calls_driver` whether mixed sources call the driver by name.
    """

    request: Request
    tools: Toolset
    sources: Sources
    exported: tuple[tuple[str, str], ...]
    has_slots: bool
    calls_driver: bool
    archs: tuple[str, ...]

    def files_and_units(self) -> tuple[dict[str, bytes | str], tuple[Unit, ...]]:
        """Return the files to write, by name, and the units that compile them."""
        files: dict[str, bytes | str] = {}
        units: list[Unit] = []
        own = (host.BOUND_PARAMS,) if self.has_slots else ()
        by_nvcc = self._by_nvcc()
        cuda_flags = HeaderSearch(self.request, self.tools).cuda_flags
        sources = self.sources
        groups = (
            ("cuda_host", sources.cuda_host, cuda_flags, () if sources.cpp else self.exported),
            # As in tvm-ffi: where there are C++ sources, they declare what is exported.
            ("cpp", sources.cpp, self.request.cflags, self.exported),
        )
        for name, group, flags, exported in groups:
            if group:
                files.update((host.file, host.source.text) for host in group)
                text, unit = self._unit(name, group, (*own, *flags), exported, by_nvcc)
                files[unit.source] = text
                units.append(unit)
        units += host.file_units(
            sources.files,
            self.tools,
            cflags=(*own, *self.request.cflags),
            cuda_flags=(*own, *cuda_flags),
            include_paths=self.request.include_paths,
            by_nvcc=by_nvcc,
        )
        if by_nvcc is not None:
            units += self._device_link(units)
        if self._needs_forwarders:
            header = Path(self.tools.cuda_include_dirs[0], "cuda.h")
            files[_FORWARDERS] = forwarders.forwarder_unit(header)
            options = host.host_flags(self.tools, ("-O1",))
            units.append(Cxx(_FORWARDERS, self.tools.compiler.command, options))
        return files, tuple(units)

    def _unit(
        self,
        name: str,
        group: tuple[HostSource, ...],
        flags: Sequence[str],
        exported: Sequence[tuple[str, str]],
        by_nvcc: Callable[..., Cxx] | None,
    ) -> tuple[str, Cxx]:
        """Return the text of the unit that includes some sources, and the unit."""
        is_cuda = name == "cuda_host"
        text = host.host_unit(group, exported, is_cuda=is_cuda)
        if is_cuda and by_nvcc is not None:
            return text, by_nvcc(f"{name}.cu")
        prefix = host.prefix(exported, is_cuda=is_cuda)
        options = host.host_flags(self.tools, flags)
        command, folders = self.tools.compiler.command, self.request.include_paths
        return text, Cxx(f"{name}.cc", command, options, folders, prefix)

    def _by_nvcc(self) -> Callable[..., Cxx] | None:
        """Return how nvcc compiles a source; None where the host compiler does."""
        if self.tools.nvcc is None:
            return None
        from ..cuda import nvcc

        return partial(
            nvcc.unit,
            tools=self.tools,
            archs=self.archs,
            flags=self.request.cuda_cflags,
            include_paths=self.request.include_paths,
        )

    def _device_link(self, units: Sequence[Unit]) -> tuple[Unit, ...]:
        """Return what links the device code of separate units, where there is any."""
        from ..cuda import nvcc

        given = (x.path for x in self.request.files.binaries if not x.is_shared)
        made = (object_name(x) for x in units if isinstance(x, Cxx) and "cu" in x.flags[:2])
        flags = self.request.cuda_cflags
        unit = nvcc.device_link((*made, *given), self.tools, archs=self.archs, flags=flags)
        return () if unit is None else (unit,)

    @property
    def _needs_forwarders(self) -> bool:
        """Whether host code may call driver functions by name."""
        # Who links an object links what it calls, too.
        if not self.tools.cuda_include_dirs or self.request.is_object:
            return False
        sources = self.sources
        others = bool(sources.cuda_host or sources.cpp or sources.files or sources.has_binaries)
        linked = bool(self.request.ldflags or self.request.bound_params)
        return others or linked or self.calls_driver
