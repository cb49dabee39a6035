"""`Unit`: what is compiled separately; device sources to units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..cuda.nvrtc import line_directive
from ..sources.facts import SourceFacts, read
from ..sources.headers import header_code
from ..sources.source import Source

if TYPE_CHECKING:
    from ..inline.request import Request


class Unit(NamedTuple):
    """One source with those that belong to every unit, as NVRTC takes them."""

    # What messages call it.
    name: str
    # The source, and what is compiled after it.
    text: str
    # What is compiled before it and is no part of it: sources of which every unit has its own copy
    # (macros, types, inline functions).
    prologue: str
    # Where headers are searched, and whether beside it first.
    include_paths: tuple[str, ...]
    is_file: bool
    # What it contains, macros of the prologue expanded.
    facts: SourceFacts


def make_units(sources: Sequence[Source], request: Request) -> tuple[Unit, ...]:
    """Return what is to be compiled separately; `sources` are at least one, in order.

    A text that defines nothing that others could refer to is no unit: it is there for those after
    it, as a header is. Files include each other as they want it, and are units.
    """
    if len(sources) == 1:
        only = _unit(request, sources[0])
        return (only if only.is_file else only._replace(name=f"{request.name}.cu"),)
    units: list[tuple[Source, tuple[Source, ...]]] = []
    headers: list[Source] = []
    seen = 0  # the headers before the last unit
    for source in sources:
        if _is_header(source, request):
            headers.append(source)
        else:
            units.append((source, tuple(headers)))
            seen = len(headers)
    if not units:
        return (_unit(request, headers[-1], headers[:-1]),)
    *first, (last, before) = units
    made = [_unit(request, source, headers) for source, headers in first]
    return (*made, _unit(request, last, before, headers[seen:]))


def _unit(
    request: Request, source: Source, before: Sequence[Source] = (), after: Sequence[Source] = ()
) -> Unit:
    def joined(sources: Sequence[Source]) -> str:
        return "\n".join(line_directive(source.name) + source.text for source in sources)

    text = "\n".join((source.text, joined(after))) if after else source.text
    whole = "\n".join((*(header.text for header in before), text))
    return Unit(
        name=source.name,
        text=text,
        prologue=joined(before),
        include_paths=(*request.include_paths, *source.further_folders),
        is_file=source.path is not None,
        facts=read(whole),
    )


def _is_header(source: Source, request: Request) -> bool:
    """Whether a text defines nothing that others could refer to, as far as it shows."""
    facts = read(source.text)
    if source.path is not None or facts.uses_host or any(x.defined for x in facts.kernels):
        return False
    # What the reader does not follow may define anything.
    if facts.kind == "device" and not facts.readable:
        return False
    if any(found.is_shared for found in facts.definitions):
        return False
    return not header_code((source,), request).kernels
