"""`Job`: a request whose device part is compiled: manifest, generated units, link, dependencies."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import codegen, include_scan, launcher_object, nvrtc, toolchain
from .dependencies import parse_depfile
from .errors import ToolchainError
from .exports import Exports
from .image import Image, image_facts
from .plan import Assembly, Cxx, Link, Unit
from .request import Request
from .sources import Sources
from .toolset import Toolset

__all__ = ["Job"]

LAUNCHER = "launcher.cc"


@dataclass(frozen=True)
class Job:
    """A request, its tools, and what the device part turned out to hold."""

    request: Request
    tools: Toolset
    sources: Sources
    images: tuple[Image, ...]
    exports: Exports

    @property
    def has_host(self) -> bool:
        """Whether there is host code of the user's own."""
        return bool(self.sources.host or self.request.cpp_sources)

    def manifest(self) -> dict[str, Any]:
        """Return what the shared object says of itself, as JSON values."""
        return {
            "schema": 1,
            "name": self.request.name,
            "functions": {
                f.name: {
                    "signature": f.signature,
                    "params": [[p.name, p.param.type.text] for p in f.params],
                    "doc": f.doc,
                    "launches": len(f.launches),
                    "kernels": [b.kernel.kernel.name for b in f.launches],
                }
                for f in self.exports.functions
            },
            "images": {i.name: image_facts(i, f"{i.name}.cubin") for i in self.images},
        }

    def files_and_units(
        self, manifest: Mapping[str, Any]
    ) -> tuple[dict[str, bytes | str], tuple[Unit, ...]]:
        """Return the files to write, by name, and the units that compile them."""
        files: dict[str, bytes | str] = {}
        units: list[Unit] = []
        for image in self.images:
            files[f"{image.name}.cubin"] = image.data
            files[f"{image.name}.s"] = codegen.image_unit(
                image.name, f"{image.name}.cubin", len(image.data), platform.machine()
            )
            assembler = (os.fspath(toolchain.find_assembler()),)
            units.append(Assembly(f"{image.name}.s", assembler, (f"{image.name}.cubin",)))
        if self.exports.functions:
            used = {b.kernel.image for f in self.exports.functions for b in f.launches}
            arches = {i.name: i.cubin.arch for i in self.images if i.cubin and i.name in used}
            files[LAUNCHER] = codegen.launcher_unit(self.exports.functions, arches, manifest)
            flags = launcher_object.launcher_flags(self.tools, optimize="-O1")
            units.append(Cxx(LAUNCHER, self.tools.compiler.command, flags))
        return files, tuple(units)

    def link(self, libraries: Sequence[str]) -> Link:
        """Return how the objects are linked, with further objects or libraries."""
        library = os.fspath(self.tools.tvm_ffi.library)
        linker = None
        if not self.has_host:
            try:
                linker = os.fspath(toolchain.find_linker())
            except ToolchainError:
                linker = None
        return Link(
            self.tools.compiler.command,
            (*libraries, library),
            self.request.ldflags,
            bare=not self.has_host,
            linker=linker,
        )

    def device_headers(self) -> include_scan.Scan:
        """Return the headers that the device sources may include."""
        return include_scan.scan(
            self.sources.device,
            self.request.include_paths,
            system_dirs=(os.fspath(nvrtc.shim_dir()), *self.tools.cuda_include_dirs),
        )

    def host_headers(self, folder: Path) -> list[str]:
        """Return the files that the host compiler says it read."""
        found = []
        for path in folder.glob("*.d"):
            if path.name == f"{LAUNCHER}.d":
                found += launcher_object.own_headers(path, self.tools)
            else:
                found += parse_depfile(path.read_text(errors="surrogateescape"))
        return found
