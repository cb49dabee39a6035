"""Which sources go to NVRTC and which to the host compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .facts import SourceFacts, read
from .headers import HeaderCode, header_code
from .source import Source

if TYPE_CHECKING:
    from ..inline.request import Request


class HostSource(NamedTuple):
    """A source for the host compiler and the file that holds it in the build folder.

    A preamble (includes, macros, types) is given to both compilers, where there are both sides.
    """

    file: str
    source: Source
    is_preamble: bool = False


class HostFile(NamedTuple):
    """A file that is a unit of its own for a host compiler."""

    source: Source
    language: str  # "c", "c++" or "cuda"


class Sources(NamedTuple):
    """A request's sources, sorted."""

    device: tuple[Source, ...]  # for NVRTC, in order
    cuda_host: tuple[HostSource, ...]  # those of the CUDA sources for the host compiler
    cpp: tuple[HostSource, ...]
    # Those with kernels and host functions, by units: the CUDA sources, where one of them is such;
    # each file that is.
    mixed: tuple[tuple[Source, ...], ...]
    files: tuple[HostFile, ...]  # for a host compiler
    has_binaries: bool  # there are files for the linker
    host_functions: tuple[str, ...]  # qualified names of those that host sources declare

    @property
    def has_host(self) -> bool:
        """Whether there is host code at all."""
        return bool(self.mixed or self.cuda_host or self.cpp or self.files or self.has_binaries)

    @property
    def are_for_nvcc(self) -> bool:
        """Whether nvcc might build CUDA sources that are cut, or the host compiler's, here."""
        files = any(file.language == "cuda" for file in self.files)
        return bool(self.mixed) or (not self.device and bool(self.cuda_host or files))

    @property
    def exported_by_files(self) -> tuple[str, ...] | None:
        """What host files are seen to export; None where nothing exports by itself."""
        mixed = [source for unit in self.mixed for source in unit if source.path is not None]
        if not (self.files or self.has_binaries or mixed):
            return None
        sources = (*(file.source for file in self.files), *mixed)
        return tuple(name for source in sources for name in read(source.text).exports)


def sort_sources(request: Request) -> Sources:
    """Sort a request's sources by what is in them; which compiler gets one is never a guess.

    Raises
    ------
    ValueError
        There are device libraries, and nothing to link them with.
    """
    if request.is_by_nvcc:
        return _for_nvcc(request)
    wanted = {export.name for export in request.functions or () if export.instances is None}
    found = [read(source.text) for source in request.cuda_sources]
    is_mixed = _are_mixed(request, found, wanted)
    device, host = ([], []) if is_mixed else _sort_cuda(request, found)
    mixed_files, device_files, host_files = _sort_files(request, wanted, is_mixed=is_mixed)
    device = [*request.kernel_sources, *device, *device_files]
    if request.device_libraries and not (device or is_mixed or mixed_files):
        raise ValueError(
            "device_libraries are linked with the device sources, and there are none: link them "
            "with nvjitlink.link and give the image as embed_cubin"
        )
    hosts = [facts for facts in found if is_mixed or facts.kind == "host"]
    hosts += [read(source.text) for source in request.cpp_sources]
    return Sources(
        device=tuple(device),
        cuda_host=tuple(host),
        cpp=_numbered("cpp_sources_{}.cpp", request.cpp_sources),
        mixed=((request.cuda_sources,) if is_mixed else ()) + mixed_files,
        files=host_files,
        has_binaries=bool(request.files.binaries),
        host_functions=tuple(x.qualified for facts in hosts for x in facts.functions),
    )


def _for_nvcc(request: Request) -> Sources:
    """Return the sources where all of CUDA's are host code, of which nvcc takes the kernels out."""
    files = request.files
    groups = {"c": files.c, "c++": files.cxx, "cuda": files.cuda}
    return Sources(
        device=(),
        cuda_host=_numbered("cuda_sources_{}.cu", request.cuda_sources),
        cpp=_numbered("cpp_sources_{}.cpp", request.cpp_sources),
        mixed=(),
        files=tuple(HostFile(source, kind) for kind, group in groups.items() for source in group),
        has_binaries=bool(files.binaries),
        host_functions=(),
    )


def _numbered(file: str, sources: Sequence[Source]) -> tuple[HostSource, ...]:
    return tuple(HostSource(file.format(i), source) for i, source in enumerate(sources))


def _sort_cuda(
    request: Request, found: Sequence[SourceFacts]
) -> tuple[list[Source], list[HostSource]]:
    """Return which CUDA sources, of which none is mixed, are for NVRTC, and which wrappers."""
    device: list[Source] = []
    host: list[HostSource] = []
    has_device = bool(request.kernel_sources) or any(f.kind == "device" for f in found)
    for index, (source, facts) in enumerate(zip(request.cuda_sources, found, strict=True)):
        preamble = has_device and _is_preamble(facts)
        if facts.kind == "device" or preamble:
            device.append(source)
        if facts.kind == "host":
            host.append(HostSource(f"cuda_sources_{index}.cu", source, preamble))
    if all(source.is_preamble for source in host):
        host = []
    return device, host


def _are_mixed(request: Request, found: Sequence[SourceFacts], wanted: set[str]) -> bool:
    """Whether the CUDA sources have kernels and host code, by their own texts or their headers'."""
    if any(_is_mixed(facts, wanted) for facts in found):
        return True
    pairs = [*zip(request.cuda_sources, found, strict=True)]
    if header_code([source for source, facts in pairs if _may_launch(facts)], request).launches:
        return True
    # Where something else brings kernels, launches tell: a wrapper may share a header with the
    # kernels that it launches as `CubinKernel`, for NVRTC's sake.
    is_all = all(facts.kind == "host" for facts in found)
    host = [x for x, facts in pairs if facts.kind == "host" and (is_all or not _is_preamble(facts))]
    if not (host and request.is_compiled) or request.images:
        return False
    code = header_code(host, request)
    return code.launches or (code.kernels and is_all and not request.kernel_sources)


def _sort_files(
    request: Request, wanted: set[str], *, is_mixed: bool
) -> tuple[tuple[tuple[Source, ...], ...], tuple[Source, ...], tuple[HostFile, ...]]:
    """Return the files that are mixed, those for NVRTC, and the others."""
    mixed: list[tuple[Source, ...]] = []
    device, wrappers, empty = [], [], []
    found = [read(source.text) for source in request.files.cuda]
    is_all = not (request.kernel_sources or request.images or is_mixed)
    is_all = is_all and all(facts.kind == "host" for facts in found)
    launched = _launched_elsewhere(found)
    for source, facts in zip(request.files.cuda, found, strict=True):
        is_host, is_preamble = facts.kind == "host", _is_preamble(facts)
        is_asked = is_host or _may_launch(facts)
        headers = header_code((source,), request) if is_asked else HeaderCode()
        by_headers = headers.launches or (headers.kernels and is_all and not is_preamble)
        is_unit = by_headers or _is_mixed(facts, wanted) or launched.intersection(_defined(facts))
        if is_unit or _is_for_others(source, facts, request):
            mixed.append((source,))
        elif not is_host or (headers.kernels and is_preamble):
            device.append(source)
        elif is_preamble:
            empty.append(source)
        else:
            wrappers.append(source)
    host = [HostFile(source, "c") for source in request.files.c]
    host += [HostFile(source, "c++") for source in request.files.cxx]
    # A file of types and macros alone is nothing to compile, unless it is all that there is.
    if wrappers or host or not (device or mixed):
        wrappers += empty
    host += [HostFile(source, "cuda") for source in wrappers]
    return tuple(mixed), tuple(device), tuple(host)


def _launched_elsewhere(found: Sequence[SourceFacts]) -> set[str]:
    """Return the kernels that files launch which they do not define: they need stubs elsewhere."""
    names = set()
    for facts in found:
        names |= {x.kernel for x in facts.launches if x.in_host} - _defined(facts)
    return names


def _defined(facts: SourceFacts) -> set[str]:
    return {kernel.name.partition("<")[0] for kernel in facts.kernels if kernel.defined}


def _is_for_others(source: Source, facts: SourceFacts, request: Request) -> bool:
    """Whether an object of a source holds no kernel, as where other files include the source."""
    if facts.kind != "device" or not request.is_object or request.functions is not None:
        return False
    kernels = any(kernel.defined and not kernel.template_params for kernel in facts.kernels)
    return not (kernels or header_code((source,), request).kernels)


def _is_preamble(facts: SourceFacts) -> bool:
    """Whether a source holds what either side may need: includes, macros, types; no functions."""
    return not (facts.kernels or facts.functions or facts.uses_host)


def _may_launch(facts: SourceFacts) -> bool:
    """Whether a source has kernels and host functions, which may hand them on to a header's."""
    return facts.kind == "device" and any(function.defined for function in facts.functions)


def _is_mixed(facts: SourceFacts, wanted: set[str]) -> bool:
    """Whether a source has kernels and host code."""
    if facts.kind == "host":
        # Its kernels are elsewhere, or nowhere; a host compiler knows no such launch or variable.
        return facts.has_variables or any(launch.in_host for launch in facts.launches)
    exported = any(f.defined and f.qualified in wanted for f in facts.functions)
    return facts.kind == "mixed" or exported
