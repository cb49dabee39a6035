"""Which sources go to NVRTC and which to the host compiler."""

from __future__ import annotations

from dataclasses import dataclass

from .request import DEVICE_IMAGE, Request
from .scan import scan
from .source_facts import SourceFacts

__all__ = ["Sources", "sort_sources"]


@dataclass(frozen=True)
class Sources:
    """A request's sources, sorted.

    Attributes
    ----------
    device : tuple of str
        For NVRTC.
    host : tuple of str
        Wrappers: those of the CUDA sources that are for the host compiler.
    host_functions : tuple of str
        Qualified names of the functions that host sources declare.
    """

    device: tuple[str, ...]
    host: tuple[str, ...]
    host_functions: tuple[str, ...]


def sort_sources(request: Request) -> Sources:
    """Sort a request's sources by parsing them; which compiler gets one is never a guess.

    Raises
    ------
    ValueError
        One mixes kernels and host code; the message says how to split it.
    """
    device = list(request.kernel_sources)
    host: list[str] = []
    functions: list[str] = []
    for index, source in enumerate(request.cuda_sources):
        facts = scan(source)
        if facts.kind == "mixed":
            raise ValueError(_mixed_text(index, facts))
        if facts.kind == "device":
            device.append(source)
        else:
            host.append(source)
            functions += [f.qualified for f in facts.functions]
    for source in request.cpp_sources:
        functions += [f.qualified for f in scan(source).functions]
    return Sources(tuple(device), tuple(host), tuple(functions))


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
