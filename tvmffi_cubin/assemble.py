"""From a request to a built folder: compile the device part, generate, plan, build."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from . import build, codegen, exports, include_scan, launcher_object, nvrtc, signature, toolchain
from .cache import Cache
from .dependencies import parse_depfile
from .entry import Product
from .errors import ToolchainError
from .exports import Exports
from .image import Image, image_facts, read_image
from .plan import Assembly, BuildPlan, Cxx, Link, Unit
from .request import DEVICE_IMAGE, Request
from .source_facts import SourceFacts
from .toolset import Toolset

__all__ = ["make"]

_LAUNCHER = "launcher.cc"
_T = TypeVar("_T")


@dataclass(frozen=True)
class _Sources:
    """The request's sources, sorted into what goes to NVRTC and what to the host compiler."""

    device: tuple[str, ...]
    host: tuple[str, ...]
    host_functions: tuple[str, ...]


def make(request: Request, arch: str | None, tools: Toolset, cache: Cache, folder: Path) -> Product:
    """Build a request in an empty folder.

    Raises
    ------
    CompileError, BuildError, ToolchainError, TypeError, ValueError
        See `tvmffi_cubin.load_inline`.
    """
    sources = _sort(request)
    # The launcher's own object does not depend on the kernels: when it has to be compiled, that
    # happens beside NVRTC's work.
    launcher = _Later(lambda: launcher_object.obtain(cache, tools)) if tools.cuda else None
    images = _images(request, sources, arch)
    resolved = exports.resolve(
        request.functions,
        images,
        host_functions=sources.host_functions,
        has_host=bool(sources.host or request.cpp_sources),
    )
    entry = launcher.result() if launcher is not None and resolved.functions else None
    job = _Job(request, tools, sources, images, resolved)
    facts = job.manifest()
    files, units = job.files_and_units(facts)
    link = job.link(() if entry is None else (os.fspath(entry.so),))
    build.run(BuildPlan(request.name, units, link=link), folder, files)
    read = [] if entry is None else list(entry.facts["dependencies"])
    scan = job.device_headers()
    return Product(
        so=f"{request.name}.so",
        keep=tuple(files),
        dependencies=(*read, *job.host_headers(folder), *scan.files),
        absent=scan.absent,
        facts=facts,
        versions=tools.versions,
    )


class _Later(Generic[_T]):
    """A result that another thread works out."""

    def __init__(self, work: Callable[[], _T]) -> None:
        self._work = work
        self._value: _T
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:
            self._error = error

    def result(self) -> _T:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._value


def _sort(request: Request) -> _Sources:
    device = list(request.kernel_sources)
    host: list[str] = []
    functions: list[str] = []
    for index, source in enumerate(request.cuda_sources):
        facts = signature.scan(source)
        if facts.kind == "mixed":
            raise ValueError(_mixed_text(index, facts))
        if facts.kind == "device":
            device.append(source)
        else:
            host.append(source)
            functions += [f.qualified for f in facts.functions]
    for source in request.cpp_sources:
        functions += [f.qualified for f in signature.scan(source).functions]
    return _Sources(tuple(device), tuple(host), tuple(functions))


def _mixed_text(index: int, facts: SourceFacts) -> str:
    evidence = "\n".join(f"  {use}" for use in facts.evidence[:6])
    return (
        f"cuda_sources[{index}] mixes kernels and host code, which are compiled by different "
        f"compilers:\n{evidence}\n"
        "split it: the kernels as one source (kernel_sources=...), the host functions as another "
        "(cuda_sources=...) that reaches the kernels through "
        f"TVM_FFI_EMBED_CUBIN({DEVICE_IMAGE}) and launches them with CubinKernel::Launch; or drop "
        "the host functions and let functions={name: Launch(...)} generate them"
    )


def _images(request: Request, sources: _Sources, arch: str | None) -> tuple[Image, ...]:
    images = [read_image(name, data) for name, data in request.images.items()]
    if not sources.device:
        return tuple(images)
    if DEVICE_IMAGE in request.images:
        raise ValueError(
            f"embed_cubin has an image {DEVICE_IMAGE!r}, the name that the device sources' own "
            "image has: rename it"
        )
    wanted = [*request.name_expressions, *exports.wanted_expressions(request.functions)]
    cubin, signatures = signature.compile_with_signatures(
        "\n".join(sources.device),
        compile=partial(
            nvrtc.compile,
            name=f"{request.name}.cu",
            arch=arch,
            options=request.cuda_cflags,
            include_paths=request.include_paths,
        ),
        wanted=wanted,
    )
    return (Image(DEVICE_IMAGE, cubin.image, cubin, signatures), *images)


@dataclass(frozen=True)
class _Job:
    """Everything that is known once the device part is compiled."""

    request: Request
    tools: Toolset
    sources: _Sources
    images: tuple[Image, ...]
    exports: Exports

    @property
    def has_host(self) -> bool:
        return bool(self.sources.host or self.request.cpp_sources)

    def manifest(self) -> dict[str, Any]:
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
            files[_LAUNCHER] = codegen.launcher_unit(self.exports.functions, arches, manifest)
            flags = launcher_object.launcher_flags(self.tools, optimize="-O1")
            units.append(Cxx(_LAUNCHER, self.tools.compiler.command, flags))
        return files, tuple(units)

    def link(self, libraries: Sequence[str]) -> Link:
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
        return include_scan.scan(
            self.sources.device,
            self.request.include_paths,
            system_dirs=(os.fspath(nvrtc.shim_dir()), *self.tools.cuda_include_dirs),
        )

    def host_headers(self, folder: Path) -> list[str]:
        found = []
        for path in folder.glob("*.d"):
            found += parse_depfile(path.read_text(errors="surrogateescape"))
        return found
