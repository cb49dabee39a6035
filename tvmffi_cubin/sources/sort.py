"""Which sources go to NVRTC and which to the host compiler."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .facts import SourceFacts, read

if TYPE_CHECKING:
    from ..inline.request import Request, Source

_LAUNCH = r"<<\s*<"
# A macro that launches; lines may be continued.
_MACRO = (
    r"(?m)^[ \t]*#[ \t]*define\b(?:[^\n\\]|\\.|\\\n)*?"
    rf"(?:{_LAUNCH}|\bcudaLaunch(?:Cooperative)?Kernel)"
)


class Sources(NamedTuple):
    """A request's sources, sorted."""

    request: Request
    device: tuple[Source, ...]  # for NVRTC, in order
    cuda_host: tuple[Source, ...]  # the CUDA sources for the host compiler
    # Sources with both kernels and host functions, by unit: all CUDA sources together if one is
    # such; and each such file.
    mixed: tuple[tuple[Source, ...], ...]
    files: tuple[tuple[str, Source], ...]  # for a host compiler, by language: c, c++ or cuda
    # Qualified names of functions that host sources declare, and names that they export.
    host_functions: tuple[str, ...]

    @property
    def has_host(self) -> bool:
        """Whether there is host code at all."""
        given = self.request.cpp_sources or self.request.files.binaries
        return bool(self.mixed or self.cuda_host or self.files or given)

    @property
    def are_for_nvcc(self) -> bool:
        """Whether nvcc might build CUDA sources that are mixed, or that the host compiler gets."""
        files = any(language == "cuda" for language, _ in self.files)
        return bool(self.mixed) or (not self.device and bool(self.cuda_host or files))

    @property
    def exported_by_files(self) -> tuple[str, ...] | None:
        """What host files visibly export; None if no file could export anything."""
        sources = [source for _, source in self.files]
        sources += [source for unit in self.mixed for source in unit if source.path is not None]
        if not (sources or self.request.files.binaries):
            return None
        return tuple(name for source in sources for name in read(source.text).exports)


def sort_sources(request: Request) -> Sources:
    """Sort a request's sources by content; the choice of a compiler is never a guess."""
    texts = _with_kinds(request.cuda_sources, request, has_kernels=bool(request.kernel_sources))
    is_mixed = any(kind == "mixed" for kind, _ in texts)
    has_kernels = is_mixed or bool(request.kernel_sources)
    files = _with_kinds(request.files.cuda, request, has_kernels=has_kernels)
    mixed = [request.cuda_sources] if is_mixed else []
    device, host = [*request.kernel_sources], []
    if not is_mixed:
        # Sources of only includes, macros and types go to both compilers, if there are both sides.
        has_device = bool(device) or any(kind == "device" for kind, _ in texts)
        own = ("device", "preamble") if has_device else ("device",)
        device += [x for kind, x in texts if kind in own]
        if any(kind not in own for kind, _ in texts):
            host = [x for kind, x in texts if kind != "device"]
    mixed += [(x,) for kind, x in files if kind == "mixed"]
    device += [x for kind, x in files if kind == "device"]
    if request.device_libraries and not (device or mixed):
        raise ValueError(
            "device_libraries are linked with device sources, but there are none: link them "
            "with nvjitlink.link and pass the image as embed_cubin"
        )
    units = [("c", x) for x in request.files.c] + [("c++", x) for x in request.files.cxx]
    units += [("cuda", x) for kind, x in files if kind == "host"]
    # A file of only types and macros is not compiled, unless there is nothing else.
    if units or not (device or mixed):
        units += [("cuda", x) for kind, x in files if kind == "preamble"]
    host_code = (*(request.cuda_sources if is_mixed else host), *request.cpp_sources)
    found = [read(source.text) for source in host_code]
    return Sources(
        request=request,
        device=tuple(device),
        cuda_host=tuple(host),
        mixed=tuple(mixed),
        files=tuple(units),
        host_functions=tuple(
            name for x in found for name in (*(y.qualified for y in x.functions), *x.exports)
        ),
    )


def _with_kinds(
    sources: Sequence[Source], request: Request, *, has_kernels: bool
) -> list[tuple[str, Source]]:
    """Return CUDA sources, each with its kind: "mixed", "device", "host", or "preamble".

    A preamble holds what either side may need: includes, macros and types. `has_kernels` says that
    there are kernels elsewhere.
    """
    if request.is_by_nvcc:  # nvcc itself separates kernels from host code
        return [("host", source) for source in sources]
    found = [read(source.text) for source in sources]
    # If kernels come from elsewhere, launches decide: for NVRTC's sake, a wrapper may share a
    # header with the kernels that it launches as `CubinKernel`.
    is_all = not (has_kernels or request.images) and all(x.kind == "host" for x in found)
    wanted = {export.name for export in request.functions or () if export.instances is None}
    # Kernels that one source launches and another defines need stubs where they are defined.
    launched = {kernel for facts in found for kernel in facts.launches - _defined(facts)}
    kinds = []
    for source, facts in zip(sources, found, strict=True):
        kind = facts.kind
        functions = [x.qualified for x in facts.functions if x.defined]
        # NVRTC compiles constexpr functions, which launch nothing.
        may_launch = any(x.defined and not x.is_constexpr for x in facts.functions)
        is_asked = kind == "host" or (kind == "device" and may_launch)
        headers = header_code(source, request) if is_asked else HeaderCode()
        if kind == "host" and not (facts.kernels or facts.functions or facts.uses_host):
            # The kernels of a file without code of its own are those it includes.
            has_own = headers.kernels and source.path is not None
            kind = "device" if has_own else "preamble"
        if facts.kind == "host":
            # It defines no kernel, but host compilers know neither launches nor device variables.
            is_mixed = bool(facts.has_variables or facts.launches)
        else:
            is_mixed = facts.kind == "mixed" or headers.calls or not wanted.isdisjoint(functions)
        if (
            is_mixed
            or headers.launches
            or ((headers.kernels or headers.threads) and is_all and kind != "device")
            or launched & _defined(facts)
            or _is_for_others(source, facts, request)
        ):
            kind = "mixed"
        kinds.append((kind, source))
    return kinds


def _defined(facts: SourceFacts) -> set[str]:
    return {kernel.name.partition("<")[0] for kernel in facts.kernels if kernel.defined}


def _is_for_others(source: Source, facts: SourceFacts, request: Request) -> bool:
    """Whether a source's object would hold no kernel, as when other files include the source."""
    if facts.kind != "device" or not request.is_object or request.functions is not None:
        return False
    kernels = any(kernel.defined and not kernel.is_template for kernel in facts.kernels)
    return not (kernels or header_code(source, request).kernels)


class HeaderCode(NamedTuple):
    """What the user's headers that a source includes contain."""

    kernels: bool = False
    launches: bool = False  # in host functions or macros
    calls: bool = False  # of CUDA's own launch functions
    threads: bool = False  # uses of threadIdx, which no host compiler accepts


def header_code(source: Source, request: Request) -> HeaderCode:
    """Return what the headers contain that a source includes, directly or not, in any branch."""
    if not (request.cuda_cflags or "include" in source.text):
        return HeaderCode()
    from ..cuda.options import preprocessor_flags
    from ..host import include_scan

    flags = preprocessor_flags(request.cuda_cflags)
    folders = (*flags.folders, *request.include_paths)
    found = include_scan.scan(
        [(flags.first_lines + source.text, source.folder)],
        [x for x in folders if not os.path.isfile(f"{x}/cuda_runtime.h")],
    )
    texts = [Path(x).read_text("utf-8", "surrogateescape") for x in found.read]
    return HeaderCode(
        any("__global__" in x and read(x).kernels for x in texts),
        any(re.search(_MACRO, x) or (re.search(_LAUNCH, x) and read(x).launches) for x in texts),
        any("cudaLaunch" in x and read(x).uses_host for x in texts),
        any("threadIdx" in x for x in texts),
    )
