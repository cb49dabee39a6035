"""Kernels of an image with their parameters: names from the source, types from NVRTC.

What cannot be known is no guess: the signature then carries a `problem` that says what to declare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..kernels.cubin import Cubin, Kernel
from ..kernels.demangle import FunctionName, function_name, spelled_types
from ..kernels.types import Param, parse_type
from ..sources.facts import KernelFact
from ..sources.parameters import Parameter
from .probe import Types, squeeze
from .signature import KernelSignature, check

_BY_SIZE = {1: "int8_t", 2: "int16_t", 4: "int", 8: "void*"}


def resolve(
    facts: Sequence[KernelFact], cubin: Cubin, types: Types, *, trust_source: bool = False
) -> tuple[KernelSignature, ...]:
    """Return the signature of every kernel in an image.

    `facts` are the kernels of the sources that it was compiled from, `types` what the probes told.
    With `trust_source`, types are read from the source's text where nothing better is known.
    """
    declared: dict[str, list[KernelFact]] = {}
    for fact in facts:
        if fact.params is not None:
            name = fact.name if fact.extern_c else squeeze(fact.qualified)
            declared.setdefault(name, []).append(fact)
    return tuple(_resolved(kernel, declared, types, trust_source) for kernel in cubin.kernels)


def _resolved(
    kernel: Kernel,
    declared: Mapping[str, Sequence[KernelFact]],
    told: Types,
    trust_source: bool,
) -> KernelSignature:
    name = function_name(kernel.name)
    types = told.get(kernel.name, told.get(squeeze(name.display), spelled_types(name)))
    fact = _fact(kernel, name, types, declared)
    written = (fact.params if fact else None) or ()
    names = [
        param.name if _is_named(param) else f"arg{index}" for index, param in enumerate(written)
    ]
    count = len(kernel.params) if types is None else len(types)
    names += [f"arg{index}" for index in range(len(names), count)]
    made = KernelSignature(
        symbol=kernel.name,
        name=name.qualified.rpartition("::")[2],
        qualified=name.qualified,
        display=name.display,
        params=(),
        names_known=len(written) == count and all(map(_is_named, written)),
        line=fact.line if fact else None,
        kernel=kernel,
    )
    try:
        if types is not None:
            parsed = [parse_type(text) for text in types]
        elif trust_source and fact is not None:
            parsed = [parse_type(param.type_text) for param in written]
            if unknown := next((x.text for x in parsed if x.size is None), None):
                raise ValueError(f"{unknown!r} may be any type (the source names it only)")
        else:
            raise ValueError("neither the compiler nor the source tells its parameters' types")
        params = [Param(*pair) for pair in zip(names, parsed, strict=False)]
        return made._replace(params=check(params, kernel, f"kernel {name.display!r}"))
    except ValueError as error:
        problem = (
            f"the parameters of kernel {name.display!r} are not known: {error}\n"
            f"declare them, such as {_suggestion(kernel, names)}"
        )
        return made._replace(problem=problem)


def _suggestion(kernel: Kernel, names: Sequence[str]) -> str:
    """Return a ``params="..."`` that fits the image, with the names that are known."""
    names = [*names, *(f"arg{index}" for index in range(len(names), len(kernel.params)))]
    pairs = zip(kernel.params, names, strict=False)
    parts = (f"{_BY_SIZE.get(slot.size, 'MyStruct')} {name}" for slot, name in pairs)
    return f'params="{", ".join(parts)}"'


def _fact(
    kernel: Kernel,
    name: FunctionName,
    types: Sequence[str] | None,
    declared: Mapping[str, Sequence[KernelFact]],
) -> KernelFact | None:
    """Return the declaration of a kernel of the image: its definition, if that has all names."""
    # Only the symbols of functions without C linkage have parameters.
    is_c = name.params is None
    spellings = [kernel.name] if is_c else [squeeze(name.display), name.qualified]
    found = [
        fact
        for spelling in dict.fromkeys(spellings)
        for fact in declared.get(spelling, ())
        if fact.extern_c == is_c and len(fact.params or ()) == len(kernel.params)
    ]
    named = [fact for fact in found if all(map(_is_named, fact.params or ()))]
    if _differ(named):
        named = [fact for fact in named if types and _takes(fact, types)] or named
        named = [fact for fact in named if fact.defined] or named
    if _differ(named):
        # Overloads that only their types tell apart, in a spelling that we cannot follow.
        return None
    return next(iter([*named, *found]), None)


def _differ(facts: Sequence[KernelFact]) -> bool:
    return len({tuple(param.name for param in fact.params or ()) for fact in facts}) > 1


def _is_named(param: Parameter) -> bool:
    return param.name.isidentifier() and param.name.isascii() and not param.pack


def _takes(fact: KernelFact, types: Sequence[str]) -> bool:
    try:
        written = [parse_type(param.type_text).text for param in fact.params or ()]
        return written == [parse_type(text).text for text in types]
    except ValueError:
        return False
