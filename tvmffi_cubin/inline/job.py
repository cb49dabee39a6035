"""`Job`: a request whose device part is compiled: its generated files, its units, its link."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import __version__
from ..device.image import Image
from ..errors import ToolchainError
from ..functions.assembly import image_text, manifest_text
from ..functions.plan import Plan
from ..host import toolchain
from ..host.plan import LOCAL_SYMBOLS, Assembly, BuildPlan, Link, Merge, Unit
from ..launches import SCHEMA
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

    `host_functions` are the C++ functions to export, with docstrings, `plan` the generated ones;
    `archs` is what nvcc compiles for, where it does; `mixed` what mixed sources were compiled to.
    """

    request: Request
    tools: Toolset
    sources: Sources
    images: tuple[Image, ...]
    host_functions: tuple[tuple[str, str], ...]
    plan: Plan
    archs: tuple[str, ...] = ()
    mixed: MixedModule | None = None

    def files_and_units(self) -> tuple[dict[str, bytes | str], tuple[Unit, ...]]:
        """Return the files to write, by name, and the units that compile them."""
        files: dict[str, bytes | str] = {}
        units: list[Unit] = []
        plan, is_called = self.plan, not self.plan.is_empty
        tables = {} if self.mixed is None else self.mixed.tables
        assembler: tuple[str, ...] = ()
        if self.images or is_called or tables:
            assembler = (os.fspath(toolchain.find_assembler()),)
        is_named = is_called or not self.request.is_object or self.request.names_images
        sections = []
        for image in self.images:
            files[image.file] = image.cubin.image
            is_shared = is_named or image.name not in tables
            text = image_text(image.name, image.file, image.cubin, is_shared=is_shared)
            if table := tables.pop(image.name, ""):
                files[f"{image.name}.s"] = table + text
                units.append(Assembly(f"{image.name}.s", assembler))
            else:
                sections.append(text)
        for name, text in tables.items():
            files[_TABLE.format(name)] = text
            units.append(Assembly(_TABLE.format(name), assembler))
        if self.images or is_called:
            files[_MANIFEST] = said = json.dumps(self._manifest())
            if is_called:
                plan.close()
            files[MODULE] = plan.finished(*sections, manifest_text(_MANIFEST, said))
            units.append(Assembly(MODULE, assembler))
        if self.sources.has_host:
            from .host_units import host_units

            more_files, more_units = host_units(self)
            return {**files, **more_files}, (*units, *more_units)
        return files, tuple(units)

    def _manifest(self) -> dict[str, Any]:
        """Return what the shared object says of itself, as JSON values."""
        request, tools = self.request, self.tools
        compiler = tools.host.compiler.splitlines()
        slots = self.plan.slots.items()
        images = {image.name: image.facts for image in self.images}
        found: dict[str, Any] = {
            "schema": SCHEMA,
            "name": request.name,
            "functions": self.plan.functions,
            "kernels": [[x.kernel.name, x.name.display, x.image] for x in self.plan.kernels],
            "images": images | {name: {"file": x} for name, x in self.plan.files.items()},
            "bound": [slot.facts for (function, _), slot in slots if function is None],
            # Of the machine nothing but its compiler's version.
            "versions": {
                "tvmffi_cubin": __version__,
                "host_compiler": next((x.strip() for x in compiler if " version " in x), ""),
            },
        }
        # Without these options the functions could not be built again as they are.
        if request.bound_params:
            found["bound_params"] = request.bound_params
        if any(image.cubin.kind == "ptx" for image in self.images):
            found["ptx"] = "keep"
        if tools.nvcc is not None:
            found["versions"]["nvcc"] = tools.nvcc.version
        if request.is_by_nvcc:
            found["archs"] = list(self.archs)
        return found

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
        if self.plan.has_cpp_slots:
            flags = (*forwarders.refusing_flags(), *flags)
        shared = [x.path for x in self.request.files.binaries if x.is_shared]
        required: tuple[str, ...] = ()
        if self.sources.exported_by_files is not None:
            required = tuple(f"__tvm_ffi_{name}" for name, _ in self.host_functions)
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
