"""Which sources go to NVRTC and which to the host compiler."""

from __future__ import annotations

from dataclasses import dataclass

from .request import DEVICE_IMAGE, Request
from .scan import scan
from .source import Source
from .source_facts import SourceFacts, Use

__all__ = ["HostSource", "Sources", "sort_sources"]


@dataclass(frozen=True)
class HostSource:
    """A source for the host compiler and the file that holds it in the build folder.

    A preamble (includes, macros, types) is given to both compilers, where there are both sides.
    """

    file: str
    source: Source
    is_preamble: bool = False


@dataclass(frozen=True)
class Sources:
    """A request's sources, sorted.

    Attributes
    ----------
    device : tuple of Source
        For NVRTC, in order.
    cuda_host : tuple of HostSource
        Wrappers: those of the CUDA sources that are for the host compiler.
    cpp : tuple of HostSource
        The C++ sources.
    host_functions : tuple of str
        Qualified names of the functions that host sources declare.
    """

    device: tuple[Source, ...]
    cuda_host: tuple[HostSource, ...]
    cpp: tuple[HostSource, ...]
    host_functions: tuple[str, ...]

    @property
    def has_host(self) -> bool:
        """Whether there is host code at all."""
        return bool(self.cuda_host or self.cpp)


def sort_sources(request: Request) -> Sources:
    """Sort a request's sources by parsing them; which compiler gets one is never a guess.

    Raises
    ------
    ValueError
        One mixes kernels and host code; the message says how to split it.
    """
    wanted = {export.name for export in request.functions or () if export.launches is None}
    found = [scan(source.text) for source in request.cuda_sources]
    for index, facts in enumerate(found):
        _refuse_mixed(index, facts, wanted)
    has_device = bool(request.kernel_sources) or any(f.kind == "device" for f in found)
    device = list(request.kernel_sources)
    host: list[HostSource] = []
    functions: list[str] = []
    for index, (source, facts) in enumerate(zip(request.cuda_sources, found, strict=True)):
        preamble = has_device and _is_preamble(facts)
        if facts.kind == "device" or preamble:
            device.append(source)
        if facts.kind == "host":
            host.append(HostSource(f"cuda_sources_{index}.cu", source, preamble))
            functions += [f.qualified for f in facts.functions]
    if all(source.is_preamble for source in host):
        host = []
    cpp = [HostSource(f"cpp_sources_{i}.cpp", x) for i, x in enumerate(request.cpp_sources)]
    for source in request.cpp_sources:
        functions += [f.qualified for f in scan(source.text).functions]
    return Sources(tuple(device), tuple(host), tuple(cpp), tuple(functions))


def _is_preamble(facts: SourceFacts) -> bool:
    """Whether a source holds what either side may need: includes, macros, types; no functions."""
    return not (facts.kernels or facts.functions or facts.host_uses)


def _refuse_mixed(index: int, facts: SourceFacts, wanted: set[str]) -> None:
    exported = [f for f in facts.functions if f.defined and f.qualified in wanted]
    if facts.kind == "mixed" or (facts.kind == "device" and exported):
        uses = (Use(f"{f.qualified}, which is to be exported", f.line) for f in exported)
        raise ValueError(_mixed_text(index, (*facts.evidence, *uses)))


def _mixed_text(index: int, uses: tuple[Use, ...]) -> str:
    evidence = "\n".join(f"  {use}" for use in uses[:6])
    return (
        f"cuda_sources[{index}] mixes kernels and host code, which are compiled by different "
        f"compilers:\n{evidence}\n"
        "split it: the kernels as one source (kernel_sources=...), the host functions as another "
        "(cuda_sources=...) that reaches the kernels through "
        f"TVM_FFI_EMBED_CUBIN({DEVICE_IMAGE}) and launches them with CubinKernel::Launch; or drop "
        "the host functions and let functions={name: Launch(...)} generate them"
    )
