"""`Job`: a request whose device part is compiled: its generated files, its units, its link."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..device.image import Image, may_be_named
from ..errors import ToolchainError
from ..functions.assembly import image_text, manifest_text
from ..functions.exports import Exports
from ..functions.manifest import image_paths
from ..host import toolchain
from ..host.plan import LOCAL_SYMBOLS, Assembly, BuildPlan, Link, Merge, Unit
from ..sources.sort import Sources
from .request import Request
from .tools import Toolset

if TYPE_CHECKING:
    from .mixed import MixedModule

# The dots keep it from being an image's or a source's.
_MANIFEST = "tvmffi_cubin.manifest.json"
MODULE = "tvmffi_cubin.module.s"
"""The file of the text that a module's own unit is."""
_TABLE = "tvmffi_cubin.{}.table.s"
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
        plan, is_called = self.exports.plan, not self.exports.plan.is_empty
        tables = {} if self.mixed is None else self.mixed.tables
        assembler: tuple[str, ...] = ()
        if self.images or is_called or tables:
            assembler = (os.fspath(toolchain.find_assembler()),)
        is_named = is_called or not self.request.is_object or may_be_named(self.request)
        sections = []
        for image in self.images:
            files[image.file] = image.cubin.image
            text = image_text(
                image.name,
                image.file,
                arches=image.cubin.arch,
                cuda_version=image.cubin.cuda_version,
                is_shared=is_named or image.name not in tables,
            )
            if table := tables.pop(image.name, ""):
                files[f"{image.name}.s"] = text + table
                units.append(Assembly(f"{image.name}.s", assembler))
            else:
                sections.append(text)
        for name, text in tables.items():
            files[_TABLE.format(name)] = text
            units.append(Assembly(_TABLE.format(name), assembler))
        if self.images or is_called:
            files[_MANIFEST] = said = json.dumps(manifest)
            if is_called:
                plan.close(image_paths(self.request))
            files[MODULE] = plan.finished(*sections, manifest_text(_MANIFEST, said))
            units.append(Assembly(MODULE, assembler))
        if self.sources.has_host:
            from .host_units import host_units

            more_files, more_units = host_units(self)
            return {**files, **more_files}, (*units, *more_units)
        return files, tuple(units)

    def link(self, libraries: Sequence[str]) -> Link | Merge:
        """Return how the objects are linked, with further objects or libraries."""
        if not self.sources.has_host:
            return _link_bare(self.request, self.tools, libraries)
        binaries = [binary.path for binary in self.request.files.binaries]
        if self.request.is_object:
            return Merge(os.fspath(toolchain.find_linker()), (*binaries, *libraries))
        from ..host import forwarders

        cuda, nvcc = self.tools.cuda, self.tools.nvcc
        flags = self.request.ldflags
        libraries = (*libraries, os.fspath(self.tools.tvm_ffi.library))
        if nvcc is not None:
            from ..cuda.nvcc import runtime

            more, own = runtime(nvcc, self.request.cuda_cflags)
            libraries = (*more, *libraries)
            flags = (*forwarders.link_flags(flags), *own)
        elif cuda is not None or binaries:
            flags = (*forwarders.link_flags(flags), *self._cudart_flags)
        if self.exports.plan.has_cpp_slots:
            flags = (*forwarders.refusing_flags(), *flags)
        shared = [x.path for x in self.request.files.binaries if x.is_shared]
        required: tuple[str, ...] = ()
        if self.sources.exported_by_files is not None:
            required = tuple(f"__tvm_ffi_{name}" for name, _ in self.exports.host)
        return Link(
            self.tools.compiler.command,
            tuple(libraries),
            (*forwarders.library_flags(shared), _MAPPED, *flags),
            objects=tuple(binaries),
            required=required,
            local_symbols=_local_symbols(self.request.ldflags),
        )

    @property
    def _cudart_flags(self) -> tuple[str, ...]:
        """What links CUDA's runtime; objects may call it where nothing else is CUDA's."""
        from ..cuda.libraries import find_cuda
        from ..host import forwarders

        try:
            cudart = (self.tools.cuda or find_cuda()).require("cudart")
        except ToolchainError:
            return ()  # what is called is told as undefined
        return forwarders.cudart_flags(forwarders.runtime_to_link(cudart))


def assembled(request: Request, tools: Toolset, launcher: str) -> BuildPlan:
    """Return the plan of a module without host code, whose text need not be known yet."""
    unit = Assembly(MODULE, (os.fspath(toolchain.find_assembler()),))
    link = _link_bare(request, tools, (launcher,))
    return BuildPlan(request.name, (unit,), link=link, output=request.output)


def _link_bare(request: Request, tools: Toolset, libraries: Sequence[str]) -> Link | Merge:
    if request.is_object:
        return Merge(os.fspath(toolchain.find_linker()), tuple(libraries))
    try:
        linker = os.fspath(toolchain.find_linker())
    except ToolchainError:
        linker = None
    if request.ldflags:
        tools.compiler.require()
    return Link(
        () if tools.compiler.missing else tools.compiler.command,
        (*libraries, os.fspath(tools.tvm_ffi.library)),
        request.ldflags,
        bare=True,
        linker=linker,
        local_symbols=_local_symbols(request.ldflags),
    )


def _local_symbols(flags: Sequence[str]) -> tuple[str, ...]:
    # A linker takes one script without names for its versions, and refuses ours beside another.
    return () if any(re.search(_VERSION_SCRIPT, flag) for flag in flags) else LOCAL_SYMBOLS
