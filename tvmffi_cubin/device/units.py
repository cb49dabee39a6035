"""`Unit`: what is compiled separately; which instances a request wants of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..cuda.nvrtc import line_directive
from ..errors import CompileError
from ..kernels.demangle import squeeze, take_apart
from ..sources import Source
from ..sources.facts import SourceFacts, read
from ..sources.sort import header_code

if TYPE_CHECKING:
    from ..inline.request import Request

SEPARATE = (
    "sources of a list are compiled separately: declare here what another defines; or put it into "
    "a source of its own before both (types, macros, inline functions and templates are seen by "
    'all that follow); or join the sources with "\\n".join(...)'
)
"""What to do about a name that another unit has."""


class Unit(NamedTuple):
    """One source with those that belong to every unit, as NVRTC takes them."""

    name: str  # what messages call it
    text: str  # behind those of which every unit has a copy: macros, types, inline functions
    is_file: bool  # headers are searched beside it first
    facts: SourceFacts


def make_units(sources: Sequence[Source], request: Request) -> tuple[Unit, ...]:
    """Return what is to be compiled separately; `sources` are at least one, in order.

    A text that defines nothing that others could refer to is not a unit: it is for those after
    it, as a header is. Files include each other as they want it, and are units.
    """
    units: list[Unit] = []
    headers: list[Source] = []
    for number, source in enumerate(sources, 1):
        if number < len(sources) and _is_header(source, request):
            headers.append(source)
            continue
        text, is_file = source.text, source.path is not None
        if headers:
            text = "\n".join(line_directive(x.name) + x.text for x in (*headers, source))
        name = source.name if is_file or len(sources) > 1 else f"{request.name}.cu"
        units.append(Unit(name, text, is_file, read(text)))
    return tuple(units)


def _is_header(source: Source, request: Request) -> bool:
    """Whether a text defines nothing that others could refer to, as far as it shows."""
    facts = read(source.text)
    if source.path is not None or facts.uses_host or any(x.defined for x in facts.kernels):
        return False
    if any(found.is_shared for found in facts.definitions):
        return False
    return not header_code(source, request).kernels


def wanted_instances(request: Request) -> tuple[str, ...]:
    """Return the template instances that are asked for, as written; they exist only then."""
    # What is in another image is not an instance of the sources' own.
    given = {*request.images, *request.image_files}
    launches = (x for export in request.functions or () for x in export.launches)
    kernels = (x.kernel or "" for x in launches if x.image not in given)
    return (*request.name_expressions, *(kernel for kernel in kernels if "<" in kernel))


def of_names(request: Request, names: Collection[str]) -> Request:
    """Return a request that asks for the instances of some templates alone, by their names."""
    short = {x: take_apart(f"{squeeze(x)}()").short for x in wanted_instances(request)}
    wanted = tuple(x for x, name in short.items() if name.lstrip("&") in names)
    return request._replace(functions=None, name_expressions=wanted)


def with_hints(error: CompileError, hints: Iterable[str]) -> CompileError:
    """Return an error that also says what to do about it."""
    text = "\n".join((str(error), *(f"Hint: {hint}" for hint in hints)))
    return CompileError(text, log=error.log, source=error.source, options=error.options)
