"""Kernels of an image with their parameters: names from the source, types from NVRTC."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..kernels.cubin import Cubin, Kernel
from ..kernels.demangle import FunctionName, function_name, spelled_types
from ..kernels.types import Param, parse_type
from ..sources.facts import KernelFact, SourceFacts
from .probe import squeeze
from .signature import KernelSignature, check, suggestion

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")


def resolve(
    facts: SourceFacts,
    cubin: Cubin,
    types: Mapping[str, tuple[str, ...]],
    *,
    trust_source: bool = False,
) -> tuple[KernelSignature, ...]:
    """Return the signature of every kernel in an image.

    Parameters
    ----------
    facts : SourceFacts
        Of the source that it was compiled from.
    cubin : Cubin
        The image.
    types : mapping of str to tuple of str
        What the probes told, from `Probe.types`.
    trust_source : bool
        Whether, where nothing better is known, the types are read from the source's text.
    """
    declared: dict[str, list[KernelFact]] = {}
    for fact in facts.kernels:
        if fact.params is not None:
            name = fact.name if fact.extern_c else squeeze(fact.qualified)
            declared.setdefault(name, []).append(fact)
    return tuple(_resolve(kernel, declared, types, trust_source) for kernel in cubin.kernels)


def _resolve(
    kernel: Kernel,
    declared: Mapping[str, Sequence[KernelFact]],
    types: Mapping[str, tuple[str, ...]],
    trust_source: bool,
) -> KernelSignature:
    name = function_name(kernel.name)
    texts = types.get(kernel.name, types.get(squeeze(name.display), spelled_types(name)))
    fact = _fact(kernel, name, texts, declared)
    from_source = texts is None and trust_source
    if from_source and fact is not None and fact.params is not None:
        texts = tuple(param.type_text for param in fact.params)
    names, names_known = _names(kernel, fact)
    signature = KernelSignature(
        symbol=kernel.name,
        name=name.qualified.rpartition("::")[2],
        qualified=name.qualified,
        display=name.display,
        params=(),
        names_known=names_known,
        line=fact.line if fact else None,
        kernel=kernel,
    )
    try:
        if texts is None:
            raise ValueError("neither the compiler nor the source tells its parameters' types")
        parsed = [parse_type(text) for text in texts]
        unknown = next((x.text for x in parsed if x.size is None), None)
        if from_source and unknown is not None:
            raise ValueError(f"{unknown!r} may be any type (the source names it only)")
        title = f"kernel {name.display!r}"
        names += [f"arg{index}" for index in range(len(names), len(parsed))]
        params = [Param(*pair) for pair in zip(names, parsed, strict=False)]
        return signature._replace(params=check(params, kernel, title))
    except ValueError as error:
        remedy = f"declare them, such as {suggestion(kernel, names)}"
        problem = f"the parameters of kernel {name.display!r} are not known: {error}\n{remedy}"
        return signature._replace(problem=problem)


def _fact(
    kernel: Kernel,
    name: FunctionName,
    texts: tuple[str, ...] | None,
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
    named = [fact for fact in found if _is_named(fact)]
    if len(_name_lists(named)) > 1:
        named = [fact for fact in named if texts and _same_types(fact, texts)] or named
        named = [fact for fact in named if fact.defined] or named
    if len(_name_lists(named)) > 1:
        # Overloads that only their types tell apart, in a spelling that we cannot follow.
        return None
    return next(iter([*named, *found]), None)


def _name_lists(facts: Iterable[KernelFact]) -> set[tuple[str, ...]]:
    return {tuple(param.name for param in fact.params or ()) for fact in facts}


def _is_named(fact: KernelFact) -> bool:
    return all(_IDENTIFIER.match(param.name) and not param.pack for param in fact.params or ())


def _same_types(fact: KernelFact, texts: tuple[str, ...]) -> bool:
    try:
        written = [parse_type(param.type_text).text for param in fact.params or ()]
        return written == [parse_type(text).text for text in texts]
    except ValueError:
        return False


def _names(kernel: Kernel, fact: KernelFact | None) -> tuple[list[str], bool]:
    """Return the parameters' names, and whether they are all the source's own."""
    count = len(kernel.params)
    if fact is None or fact.params is None:
        return [f"arg{index}" for index in range(count)], count == 0
    names = [
        param.name if _IDENTIFIER.match(param.name) and not param.pack else f"arg{index}"
        for index, param in enumerate(fact.params)
    ]
    return names, _is_named(fact)
