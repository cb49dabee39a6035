"""`Job`: a request whose device part is compiled, its generated files and its build steps."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import __version__, importing
from ..device.image import Image
from ..errors import ToolchainError
from ..functions.assembly import image_text, manifest_text
from ..functions.plan import Plan
from ..host import steps
from ..host.steps import Step
from ..launches import SCHEMA
from ..sources.sort import Sources
from .request import Request
from .tools import Build, Toolset

if TYPE_CHECKING:
    from .mixed import Compiled

# The dots keep it from clashing with an image or a source.
_MANIFEST = "tvmffi_cubin.manifest.json"
_MODULE = "tvmffi_cubin.module.s"
# Errors and objects from host code that Python holds may outlive the module.
_MAPPED = "-Wl,-z,nodelete"


class Job(NamedTuple):
    """A request, and the result of compiling its device part."""

    wanted: Build
    sources: Sources
    images: tuple[Image, ...]
    host_functions: tuple[tuple[str, str], ...]  # C++ functions to export, and their docstrings
    plan: Plan  # the generated functions
    mixed: Compiled | None  # the result of compiling mixed sources

    def files_and_units(self) -> tuple[dict[str, bytes | str], list[Step]]:
        """Return the files to write, by name, and the steps that compile them into objects."""
        files: dict[str, bytes | str] = {}
        units: list[Step] = []
        plan, is_called = self.plan, not self.plan.is_empty
        tables = {} if self.mixed is None else {**self.mixed.tables}

        def add(name: str, text: str) -> None:
            files[name] = text
            units.append(steps.assembly(name))

        request = self.wanted.request
        is_named = is_called or not request.is_object or request.names_images
        sections = []
        for image in self.images:
            files[image.file] = image.cubin.image
            is_shared = is_named or image.name not in tables
            text = image_text(image.name, image.file, image.cubin, is_shared=is_shared)
            if table := tables.pop(image.name, ""):
                add(f"{image.name}.s", table + text)
            else:
                sections.append(text)
        for name, text in tables.items():
            add(f"tvmffi_cubin.{name}.table.s", text)
        if self.images or is_called:
            files[_MANIFEST] = said = json.dumps(self._manifest())
            if is_called:
                plan.close()
            add(_MODULE, plan.finished(*sections, manifest_text(_MANIFEST, said)))
        if self.sources.has_host:
            with importing:
                from .host_units import add_host_units
            add_host_units(self, files, units)
        return files, units

    def steps(self, units: Sequence[Step], objects: Sequence[str]) -> list[Step]:
        """Return all steps of the build: the units, and the link with further objects."""
        request, tools = self.wanted.request, self.wanted.tools
        given = request.files.binaries
        made = [*(x.made for x in units), *(binary.path for binary in given), *objects]
        if not self.sources.has_host:
            return [*units, _joined(request, tools, made)]
        if request.is_object:
            if len(made) == len(units) == 1:
                return [units[0]._replace(made=request.output)]
            return [*units, steps.merge(request.output, made)]
        from ..cuda.libraries import find_cuda
        from ..host import forwarders

        flags, libraries = forwarders.link_flags(request.ldflags), [tools.tvm_ffi.library]
        if tools.nvcc is not None:
            from ..cuda.nvcc import runtime

            more, own = runtime(tools.nvcc, request.cuda_cflags)
            libraries = [*more, *libraries]
            flags = (*flags, *own)
        elif tools.cuda is not None or given:
            # Without a CUDA runtime, the linker reports what objects call of it as undefined.
            with contextlib.suppress(ToolchainError):
                cudart = (tools.cuda or find_cuda()).require("cudart")
                linked = forwarders.runtime_to_link(cudart)
                flags = (*flags, *forwarders.cudart_flags(linked))
        if self.plan.bound(None):
            flags = (*forwarders.refusing_flags(), *flags)
        required: list[str] = []
        if self.sources.exported_by_files is not None:
            required = [f"__tvm_ffi_{name}" for name, _ in self.host_functions]
        shared = forwarders.library_flags([x.path for x in given if x.is_shared])
        last = steps.link(
            request.output,
            [*made, *libraries],
            command=tools.compiler.command,
            flags=(*shared, _MAPPED, *flags),
            required=required,
        )
        return [*units, last]

    def _manifest(self) -> dict[str, Any]:
        """Return the manifest that the shared object carries, as JSON values."""
        request, tools = self.wanted.request, self.wanted.tools
        compiler = tools.host.compiler.splitlines()
        images = {image.name: image.facts for image in self.images}
        found: dict[str, Any] = {
            "schema": SCHEMA,
            "name": request.name,
            "functions": self.plan.functions,
            "kernels": [[x.kernel.name, x.name.display, x.image] for x in self.plan.kernels],
            "images": images | {name: {"file": x} for name, x in self.plan.files.items()},
            "bound": self.plan.bound(None),
            # Nothing about the machine but its compiler's version.
            "versions": {
                "tvmffi_cubin": __version__,
                "host_compiler": next((x.strip() for x in compiler if " version " in x), ""),
            },
        }
        # The options needed to build the same functions again.
        if request.bound_params:
            found["bound_params"] = request.bound_params
        if any(image.cubin.kind == "ptx" for image in self.images):
            found["ptx"] = "keep"
        if tools.nvcc is not None:
            found["versions"]["nvcc"] = tools.nvcc.version
        if request.is_by_nvcc:
            found["archs"] = list(self.wanted.archs)
        return found


def assembled(request: Request, tools: Toolset, launcher: str) -> list[Step]:
    """Return the build steps of a module without host code; its text need not be known yet."""
    unit = steps.assembly(_MODULE)
    return [unit, _joined(request, tools, (unit.made, launcher))]


def _joined(request: Request, tools: Toolset, objects: Sequence[str]) -> Step:
    """Return the step that links objects without host code."""
    if request.is_object:
        return steps.merge(request.output, objects)
    inputs = [*objects, tools.tvm_ffi.library]
    if not request.ldflags:
        return steps.bare_link(request.output, inputs)
    tools.compiler.require()
    return steps.link(
        request.output, inputs, command=tools.compiler.command, flags=(*request.ldflags, "-ldl")
    )
