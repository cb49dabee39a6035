"""`Job`: a request whose device part is compiled: its generated units, link, dependencies."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..device.image import Image, may_be_named
from ..errors import ToolchainError
from ..functions.assembly import image_text, manifest_text
from ..functions.exports import Exports
from ..functions.manifest import image_paths
from ..host import toolchain
from ..host.plan import LOCAL_SYMBOLS, Assembly, Cxx, Link, Merge, Unit, object_name
from ..sources.sort import HostSource, Sources
from .request import Request
from .tools import Toolset

if TYPE_CHECKING:
    from ..include_scan import Scan
    from ..mixed_module import MixedModule
    from .headers import HeaderSearch

__all__ = ["Job"]

# The dots keep it from being an image's or a source's.
_MANIFEST = "tvmffi_cubin.manifest.json"
_MODULE = "tvmffi_cubin.module.s"
_FORWARDERS = "forwarders.cc"
_TABLE = "tvmffi_cubin.{}.table.s"
_MAY_BE_UNDEFINED = ("undefs", "unresolved-symbols")
# Errors and objects that host code has made, and Python holds, may outlive the module.
_MAPPED = "-Wl,-z,nodelete"
_VERSION_SCRIPT = r"(?:^|,)--?version-script(?:[=,]|$)"


class Job(NamedTuple):
    """A request, its tools, and what the device part turned out to hold.

    `archs` is what nvcc compiles for, where it does; `mixed` what mixed sources were compiled to.
    """

    request: Request
    tools: Toolset
    sources: Sources
    images: tuple[Image, ...]
    exports: Exports
    archs: tuple[str, ...] = ()
    mixed: MixedModule | None = None

    def files_and_units(
        self, manifest: Mapping[str, Any]
    ) -> tuple[dict[str, bytes | str], tuple[Unit, ...]]:
        """Return the files to write, by name, and the units that compile them."""
        files: dict[str, bytes | str] = {}
        units: list[Unit] = []
        plan = self.exports.plan
        is_called = not plan.is_empty
        if self.images or is_called or self.mixed is not None:
            assembler = (os.fspath(toolchain.find_assembler()),)
        tables = {} if self.mixed is None else self.mixed.tables
        is_shared = is_called or not self.request.is_object or may_be_named(self.request)
        machine = os.uname().machine
        sections, embedded = [], []
        for image in self.images:
            files[image.file] = image.data
            text = image_text(
                image.name,
                image.file,
                len(image.data),
                machine,
                arches=image.cubin.arch,
                cuda_version=image.cubin.cuda_version,
                is_shared=is_shared or image.name not in tables,
            )
            if table := tables.pop(image.name, ""):
                files[f"{image.name}.s"] = text + table
                units.append(Assembly(f"{image.name}.s", assembler, (image.file,)))
            else:
                sections.append(text)
                embedded.append(image.file)
        for name, text in tables.items():
            files[_TABLE.format(name)] = text
            units.append(Assembly(_TABLE.format(name), assembler))
        if self.images or is_called:
            said = json.dumps(manifest)
            files[_MANIFEST] = said
            if is_called:
                plan.close(image_paths(self.request))
            files[_MODULE] = plan.finished(*sections, manifest_text(_MANIFEST, said))
            units.append(Assembly(_MODULE, assembler, (*embedded, _MANIFEST)))
        more_files, more_units = self.host_units()
        return {**files, **more_files}, (*units, *more_units)

    def host_units(self) -> tuple[dict[str, bytes | str], tuple[Unit, ...]]:
        """Return the same of host code that comes with the module alone."""
        files: dict[str, bytes | str] = {}
        units: list[Unit] = []
        if not self.sources.has_host:
            return files, ()
        from .. import forwarders, host_unit
        from ..file_units import file_units

        by_nvcc = self._by_nvcc()
        groups = self._host_groups()
        for name, (group, own) in groups.items():
            files.update((host.file, host.source.text) for host in group)
            # As in tvm-ffi: where there are C++ sources, they declare what is exported.
            exported = self._exported if name == [*groups][-1] else ()
            is_cuda = name == "cuda_host"
            text = host_unit.host_unit(group, exported, is_cuda=is_cuda)
            if is_cuda and by_nvcc is not None:
                files[f"{name}.cu"] = text
                units.append(by_nvcc(f"{name}.cu"))
                continue
            files[f"{name}.cc"] = text
            flags = host_unit.host_flags(self.tools, (*self._own_flags(), *own))
            command = self.tools.compiler.command
            prefix = host_unit.prefix(group, exported, is_cuda=is_cuda)
            units.append(Cxx(f"{name}.cc", command, flags, self.request.include_paths, prefix))
        units += file_units(
            self.sources.files,
            self.tools,
            cflags=(*self._own_flags(), *self.request.cflags),
            cuda_flags=(*self._own_flags(), *self._search.cuda_flags),
            include_paths=self.request.include_paths,
            by_nvcc=by_nvcc,
        )
        if by_nvcc is not None:
            units += self._device_link(units)
        if self._needs_forwarders:
            header = Path(self.tools.cuda_include_dirs[0], "cuda.h")
            files[_FORWARDERS] = forwarders.forwarder_unit(header)
            flags = host_unit.host_flags(self.tools, ("-O1",))
            units.append(Cxx(_FORWARDERS, self.tools.compiler.command, flags))
        return files, tuple(units)

    @property
    def _needs_forwarders(self) -> bool:
        """Whether host code may call driver functions by name; of mixed sources it is known."""
        # Who links an object links what it calls, too.
        if not self.tools.cuda_include_dirs or self.request.is_object:
            return False
        sources, mixed = self.sources, () if self.mixed is None else self.mixed.hosts
        others = bool(sources.cuda_host or sources.cpp or sources.files or sources.has_binaries)
        linked = bool(self.request.ldflags or self.request.bound_params)
        return others or linked or any(host.facts["calls_driver"] for host in mixed)

    @property
    def _exported(self) -> tuple[tuple[str, str], ...]:
        """The C++ functions that are yet to be exported."""
        done = () if self.mixed is None else self.mixed.exported
        return tuple(export for export in self.exports.host if export[0] not in done)

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

    def _device_link(self, units: Iterable[Unit]) -> tuple[Unit, ...]:
        """Return what links the device code of separate units, where there is any."""
        from ..cuda import nvcc

        given = (x.path for x in self.request.files.binaries if not x.is_shared)
        made = (object_name(x) for x in units if isinstance(x, Cxx) and "cu" in x.flags[:2])
        flags = self.request.cuda_cflags
        unit = nvcc.device_link((*made, *given), self.tools, archs=self.archs, flags=flags)
        return () if unit is None else (unit,)

    def _host_groups(self) -> dict[str, tuple[tuple[HostSource, ...], tuple[str, ...]]]:
        """Return the sources of each unit of host code, and the user's flags for it."""
        groups = {
            "cuda_host": (self.sources.cuda_host, self._search.cuda_flags),
            "cpp": (self.sources.cpp, self.request.cflags),
        }
        return {name: group for name, group in groups.items() if group[0]}

    @property
    def _search(self) -> HeaderSearch:
        from .headers import HeaderSearch

        return HeaderSearch(self.request, self.tools)

    def _own_flags(self) -> tuple[str, ...]:
        """Return what all host code is compiled with."""
        from ..host_unit import BOUND_PARAMS

        return (BOUND_PARAMS,) if self.exports.plan.has_cpp_slots else ()

    def link(self, libraries: Sequence[str]) -> Link | Merge:
        """Return how the objects are linked, with further objects or libraries."""
        given = self.request.files.binaries
        if self.request.is_object:
            objects = (*(binary.path for binary in given), *libraries)
            return Merge(os.fspath(toolchain.find_linker()), objects)
        libraries = (*libraries, os.fspath(self.tools.tvm_ffi.library))
        command = self.tools.compiler.command
        # A linker takes one script without names for its versions, and refuses ours beside another.
        is_scripted = any(re.search(_VERSION_SCRIPT, flag) for flag in self.request.ldflags)
        local_symbols = () if is_scripted else LOCAL_SYMBOLS
        if self.sources.has_host:
            from .. import forwarders
            from ..file_units import library_flags

            cuda = self.tools.cuda
            flags = self.request.ldflags
            further: tuple[str, ...] = ()
            if self.tools.nvcc is not None:
                from ..cuda import nvcc

                more, own = nvcc.runtime(self.tools.nvcc, self.request.cuda_cflags)
                libraries = (*more, *libraries)
                flags = (*forwarders.link_flags(flags), *own)
            elif cuda is not None:
                flags = forwarders.link_flags(flags)
                if "cudart" in cuda.parts:
                    further = forwarders.cudart_flags(cuda.require("cudart"))
                if any(word in flag for flag in flags for word in _MAY_BE_UNDEFINED):
                    # Then no failure tells that the library is needed.
                    flags, further = (*flags, *further), ()
            flags = (_MAPPED, *flags)
            if self.exports.plan.has_cpp_slots:
                flags = (*forwarders.refusing_flags(), *flags)
            flags = (*library_flags([x.path for x in given if x.is_shared]), *flags)
            objects = tuple(binary.path for binary in given)
            required = self._required()
            return Link(
                command,
                libraries,
                flags,
                objects=objects,
                further_flags=further,
                required=required,
                local_symbols=local_symbols,
            )
        try:
            linker = os.fspath(toolchain.find_linker())
        except ToolchainError:
            linker = None
        flags = self.request.ldflags
        if flags:
            self.tools.compiler.require()
        elif self.tools.compiler.missing:
            command = ()
        return Link(
            command, libraries, flags, bare=True, linker=linker, local_symbols=local_symbols
        )

    def _required(self) -> tuple[str, ...]:
        """Return the symbols of the functions that files are said to export."""
        if self.sources.exported_by_files is None:
            return ()
        return tuple(f"__tvm_ffi_{name}" for name, _ in self.exports.host)

    def scanned_headers(self) -> Scan:
        """Return the headers that the sources may include, and those that would come before them.

        NVRTC lists neither; of the host compiler, `HeaderSearch.read` has the former.
        """
        from .headers import joined

        search = self._search
        host = [
            search.host(tuple(x.source for x in group), flags)
            for group, flags in self._host_groups().values()
        ]
        for file in self.sources.files:
            flags = self._search.cuda_flags if file.language == "cuda" else self.request.cflags
            host.append(search.host((file.source,), flags))
        return joined(search.device(self.sources.device), host)
