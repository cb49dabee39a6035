"""`read`: what a CUDA source contains: kernels, host functions, definitions, launches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from .declarations import read_items
from .items import Item, Parameter, parameters, top, walk
from .raw import read_raw
from .tokens import Tokens

_HOST_INCLUDE = r"(?:tvm/ffi|torch|ATen|c10|pybind11)/|Python\.h\Z|dlpack/"
_USES_HOST = (
    r"\b(?:TVM_FFI_|TVMFFI|TORCH_LIBRARY|TORCH_EXTENSION_NAME|PYBIND11_MODULE|EMBED_CUBIN\b"
    r"|torch ::|tvm :: ffi\b|at :: Tensor\b)"
)
# Calls of CUDA's runtime, but for what only device code calls.
_RUNTIME_CALL = r"\bcuda(?!Grid|Trigger)[A-Z]\w* \("
_EXPORT = r"\b(?:TVM_FFI_DLL_EXPORT_TYPED_FUNC \( |__tvm_ffi_)(\w+)"
_INLINE = {"inline", "__inline", "__inline__", "__forceinline", "__forceinline__"}


class KernelFact(NamedTuple):
    """A ``__global__`` function that a source declares, defines or instantiates."""

    name: str  # with template arguments if it is an explicit instantiation or specialization
    qualified: str  # as code at global scope would write it
    extern_c: bool
    is_template: bool
    params: tuple[Parameter, ...]
    defined: bool  # it has a body, or is an explicit instantiation


class Declared(NamedTuple):
    """A function or variable at namespace scope, kernels aside."""

    qualified: str  # as code at global scope would write it
    defined: bool
    is_shared: bool  # other sources can refer to it, and must not define it too
    is_constexpr: bool


class SourceFacts(NamedTuple):
    """What a source contains."""

    # "device" (it defines kernels, or device functions and variables only, and has no host part),
    # "mixed" (kernels, and launches in host functions or use of a host-side API) or "host"
    kind: str
    kernels: tuple[KernelFact, ...]
    functions: tuple[Declared, ...]  # without __global__ and __device__
    launches: frozenset[str]  # the kernels that host functions launch with ``<<<...>>>``
    uses_host: bool  # tvm-ffi, torch, pybind11 or Python, or CUDA's runtime in host functions
    definitions: tuple[Declared, ...]  # on either side, kernels aside
    has_variables: bool  # in device memory
    exports: tuple[str, ...]  # as far as the text shows; a header's macro may hide more


@lru_cache(maxsize=16)
def read(source: str) -> SourceFacts:
    """Return what a CUDA source contains; reporting errors is left to the compilers."""
    tokens, includes = read_raw(source)
    items = read_items(tokens)
    kernels, functions, definitions = [], [], []
    known: dict[tuple[str, ...], tuple[Parameter, ...]] = {}  # many kernels have the very same
    has_variables = False
    for item in top(items):
        if "__global__" in item.words and (item.params or item.name):
            first, end = item.params or (0, 0)
            key = (*tokens.texts[first:end],)
            if key not in known:
                known[key] = (*parameters(tokens, item.params),) if item.params else ()
            kernels.append(_kernel(tokens, item, known[key]))
        elif item.kind in ("function", "instance") and item.name:
            found = _declared(item, item.name)
            if item.body is not None:
                definitions.append(found)
            # A macro has no type before it.
            is_macro = item.body is None and (item.params or (0,))[0] == item.head + 1
            if "__device__" not in item.words and not is_macro:
                functions.append(found)
        elif item.is_device_variable and "extern" not in item.words:
            has_variables = True
            definitions += [_declared(item, name) for name in item.names]
    words = {*tokens.texts}
    pieces = zip(tokens.texts, tokens.kinds, strict=True)
    code = " ".join(text for text, kind in pieces if kind != "text")
    is_asked = "<<<" in words or re.search(_RUNTIME_CALL, code)
    in_host = [*_in_host_functions(items)] if is_asked else []
    launches = frozenset(
        tokens.texts[tokens.launched(i)] for i in in_host if tokens.texts[i] == "<<<"
    )
    uses_host = (
        any(re.match(_HOST_INCLUDE, x) for x in includes)
        or re.search(_USES_HOST, code) is not None
        or re.search(_RUNTIME_CALL, " ".join(tokens.texts[i] for i in in_host)) is not None
    )
    is_host = uses_host or bool(launches)
    if any(kernel.defined for kernel in kernels):
        kind = "mixed" if is_host else "device"
    elif is_host or functions or "__host__" in words:
        kind = "host"
    else:
        kind = "device" if words & {"__device__", "__constant__"} else "host"
    return SourceFacts(
        kind=kind,
        kernels=tuple(kernels),
        functions=tuple(functions),
        launches=launches,
        uses_host=uses_host,
        definitions=tuple(definitions),
        has_variables=has_variables,
        exports=tuple(re.findall(_EXPORT, code)),
    )


def _kernel(tokens: Tokens, item: Item, params: tuple[Parameter, ...]) -> KernelFact:
    name = item.name + item.arguments
    # Without parameters, it is a macro that provides them.
    return KernelFact(
        name=name,
        qualified=item.qualify(name),
        extern_c=_is_c(tokens, item),
        is_template=item.is_template,
        params=params,
        defined=item.body is not None or item.kind == "instance" or not item.params,
    )


def _is_c(tokens: Tokens, item: Item | None) -> bool:
    """Whether a declaration has C linkage, by its own words or those around it."""
    while item is not None:
        for at in range(item.first, (item.params or item.body or (item.end,))[0]):
            if tokens.kinds[at] == "text" and tokens.texts[at - 1] == "extern":
                return tokens.texts[at] == '"C"'
        item = item.parent
    return False


def _declared(item: Item, name: str) -> Declared:
    is_own = "static" in item.words or "" in item.namespaces
    is_own = is_own or (item.kind == "variable" and "const" in item.words)
    return Declared(
        item.qualify(name),
        item.body is not None or item.kind == "variable",
        not (item.is_template or item.is_constexpr or is_own or item.words & _INLINE),
        item.is_constexpr,
    )


def _in_host_functions(items: Iterable[Item]) -> Iterator[int]:
    """Yield the numbers of the tokens of host functions."""
    for item in walk(items):
        if not item.children and not item.words & {"__global__", "__device__"}:
            yield from range(item.first, item.end)
