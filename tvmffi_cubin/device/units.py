"""`Unit`: what is compiled separately; the instances that a request wants; its `Probe`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..cuda.nvrtc import line_directive
from ..errors import CompileError
from ..kernels.demangle import demangle, split_list, squeeze, take_apart
from ..sources.facts import SourceFacts, read
from ..sources.sort import header_code

if TYPE_CHECKING:
    from ..inline.request import Request, Source

SEPARATE = (
    "sources of a list are compiled separately: declare here what another defines; or "
    "move it to a source of its own before both (later sources see its types, macros, inline "
    'functions and templates); or join the sources with "\\n".join(...)'
)
"""What to do about a name that is in another unit."""

# A probe is a variable template over the kernel's function type: its mangled name spells the type
# out. Names here are long because the source may define any short name as a macro. Enumerations
# are mapped to their underlying integers, since nothing else distinguishes them from structs.
_EPILOGUE = """
template <class tvmffi_cubin_t, bool = __is_enum(tvmffi_cubin_t)>
struct tvmffi_cubin_value { using tvmffi_cubin_type = tvmffi_cubin_t; };
template <class tvmffi_cubin_t>
struct tvmffi_cubin_value<tvmffi_cubin_t, true> {
  using tvmffi_cubin_type = __underlying_type(tvmffi_cubin_t);
};
template <class... tvmffi_cubin_a>
auto tvmffi_cubin_function(void (*)(tvmffi_cubin_a...))
  -> void (*)(typename tvmffi_cubin_value<tvmffi_cubin_a>::tvmffi_cubin_type...);
template <class tvmffi_cubin_f> __device__ char tvmffi_cubin_probe;
"""
_EXPRESSION = "&tvmffi_cubin_probe<decltype(tvmffi_cubin_function({}))>"
_LOWERED = "tvmffi_cubin_probe<void (*)("

Types = dict[str, tuple[str, ...]]  # parameter types of kernels, by symbol


class Probe(NamedTuple):
    """Kernels to ask NVRTC about, named as in code at the end of the source."""

    kernels: tuple[str, ...] = ()

    @property
    def epilogue(self) -> str:
        """Code to append to the source."""
        return _EPILOGUE if self.kernels else ""

    @property
    def name_expressions(self) -> tuple[str, ...]:
        """The expressions to lower: kernels, which NVRTC may otherwise drop, and their types."""
        return (*self.kernels, *map(_EXPRESSION.format, self.kernels))

    def types(self, lowered_names: Mapping[str, str]) -> Types:
        """Return the types that NVRTC reports."""
        found: Types = {}
        for kernel in self.kernels:
            text = demangle(lowered_names.get(_EXPRESSION.format(kernel), ""))
            if text.startswith(_LOWERED):
                found[lowered_names[kernel]] = (*split_list(text[len(_LOWERED) : -len(")>")]),)
        return found

    def surviving(self, log: str) -> Probe:
        """Return the probe without the kernels that fail; without any if NVRTC quotes none."""

        def has_failed(kernel: str) -> bool:
            return _EXPRESSION.format(kernel) in log or f"nv_mangled_name {kernel}\n" in log

        left = tuple(kernel for kernel in self.kernels if not has_failed(kernel))
        return Probe(left if left != self.kernels else ())


class Unit(NamedTuple):
    """One source, preceded by those that belong to every unit, as passed to NVRTC."""

    name: str  # what messages call it
    text: str  # preceded by copies of shared sources: macros, types, inline functions
    is_file: bool  # headers are searched beside it first
    facts: SourceFacts

    def probe(self, wanted: Iterable[str]) -> Probe:
        """Return the probe for its kernels and the template instances that are wanted."""
        defined = [kernel for kernel in self.facts.kernels if kernel.defined]
        # An overloaded name has no single type. In a namespace, the arguments of an instance may be
        # names that are valid only there.
        counts = Counter(kernel.qualified for kernel in defined)
        named = [
            kernel.qualified
            for kernel in defined
            if not kernel.is_template
            and (kernel.extern_c or counts[kernel.qualified] == 1)
            and not ("<" in kernel.name and kernel.qualified != kernel.name)
        ]
        # `&x` and casts name variables or overloads.
        asked = [name for name in wanted if name.strip()[:1] not in ("&", "(")]
        return Probe(tuple(dict.fromkeys((*asked, *named))))


def make_units(sources: Sequence[Source], request: Request) -> tuple[Unit, ...]:
    """Return the units to compile separately; `sources` are one or more, in order.

    A text that defines nothing that others could refer to is not a unit: like a header, it is for
    those after it. Files are always units, since they include what they need themselves.
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
    facts = read(source.text)
    is_shared = any(x.defined for x in facts.kernels) or any(x.is_shared for x in facts.definitions)
    is_unit = source.path is not None or facts.uses_host or is_shared
    return not (is_unit or header_code(source, request).kernels)


def wanted_instances(request: Request) -> tuple[str, ...]:
    """Return the template instances that are requested, as written; no others exist."""
    # What is in another image is not an instance of the sources.
    given = {*request.images, *request.image_files}
    launches = (x for export in request.functions or () for x in export.launches)
    kernels = (x.kernel or "" for x in launches if x.image not in given)
    return (*request.name_expressions, *(kernel for kernel in kernels if "<" in kernel))


def of_names(request: Request, names: Collection[str]) -> Request:
    """Return a request for only the instances of some templates, by their names."""
    short = {x: take_apart(f"{squeeze(x)}()").short for x in wanted_instances(request)}
    wanted = tuple(x for x, name in short.items() if name.lstrip("&") in names)
    return request._replace(functions=None, name_expressions=wanted)


def with_hints(error: CompileError, hints: Iterable[str]) -> CompileError:
    """Return an error that also says how to fix it."""
    text = "\n".join((str(error), *(f"Hint: {hint}" for hint in hints)))
    return CompileError(text, log=error.log, source=error.source, options=error.options)
