"""From source and image to typed kernels: names from the source, types from NVRTC, sizes checked.

What cannot be known is no guess: the signature then carries a `problem` that says what to declare.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from .errors import CompileError
from .functions.signature import KernelSignature, check, suggestion
from .kernels.cubin import Cubin, Kernel
from .kernels.demangle import FunctionName, function_name, spelled_types
from .kernels.types import CxxType, Param, parse_type
from .probe import Probe, Target, plan, plan_targets, squeeze
from .scan import scan
from .source_facts import KernelFact, SourceFacts

__all__ = [
    "KernelSignature",
    "SourceFacts",
    "compile_with_signatures",
    "instance_failure",
    "open_targets",
    "plan",
    "resolve",
    "scan",
    "try_probe",
]

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")


def compile_with_signatures(
    source: str,
    *,
    compile: Callable[..., Cubin],  # noqa: A002 - the stage that it stands for
    facts: SourceFacts | None = None,
    wanted: Iterable[str] = (),
) -> tuple[Cubin, tuple[KernelSignature, ...]]:
    """Compile a source and learn its kernels' signatures, in one compilation where possible.

    A second one is made where a probe does not compile (a kernel under an ``#if`` that is false),
    or where the image has kernels that the source does not show (from a header).

    Parameters
    ----------
    source : str
        CUDA C++ source.
    compile : callable
        ``compile(source, epilogue=str, name_expressions=tuple of str) -> Cubin``.
    facts : SourceFacts, optional
        From `scan`, where the caller has them already.
    wanted : iterable of str
        Name expressions to instantiate.

    Returns
    -------
    cubin : Cubin
        The image to embed. The probes are in it, one byte each; its `lowered_names` are without
        them.
    signatures : tuple of KernelSignature
        One for each kernel of the image.

    Raises
    ------
    CompileError
        The source itself does not compile, or a wanted instance of one of its kernels.
    ValueError
        It does, but a wanted instance is none of its kernels.
    """
    facts = scan(source) if facts is None else facts
    wanted = tuple(dict.fromkeys(wanted))

    def attempt(probe: Probe) -> Cubin:
        names = tuple(dict.fromkeys([*wanted, *probe.name_expressions]))
        return compile(source, epilogue=probe.epilogue, name_expressions=names)

    planned = plan(facts, wanted)
    try:
        cubin, probe = try_probe(attempt, planned)
    except CompileError as error:
        if wanted:
            compile(source, epilogue="", name_expressions=())
            raise instance_failure(wanted, facts, error) from None
        raise
    found = resolve(facts, cubin, probe.types(cubin.lowered_names))
    more = open_targets(found, facts, planned.targets)
    cubin, probe = _again(attempt, cubin, probe, more)
    signatures = resolve(facts, cubin, probe.types(cubin.lowered_names), trust_source=True)
    lowered = probe.without(cubin.lowered_names)
    return dataclasses.replace(cubin, lowered_names=lowered), signatures


def instance_failure(
    wanted: Sequence[str], facts: SourceFacts, error: CompileError
) -> CompileError | ValueError:
    """Return the error for instances of which one does not compile, or is of no kernel there."""
    if "detected during" in error.log or "nv_mangled_name" not in error.log:
        return error  # NVRTC found the template, and something wrong in its body
    declared = ", ".join(dict.fromkeys(kernel.qualified for kernel in facts.kernels)) or "none"
    # NVRTC quotes what it cannot read, and not what it can.
    failed = [name for name in wanted if f"nv_mangled_name {name}\n" in error.log] or wanted
    listed = ", ".join(map(repr, failed[:8])) + (", ..." if len(failed) > 8 else "")
    return ValueError(
        f"{listed}: no instance of the source's kernels, which are: {declared}; that of an "
        f"embedded image is named with it, Launch(image=...). NVRTC says:\n{error.log}"
    )


def _again(
    attempt: Callable[[Probe], Cubin], cubin: Cubin, probe: Probe, more: Sequence[Target]
) -> tuple[Cubin, Probe]:
    """Compile once more with further targets, if there are any; return what is to be used."""
    if not more:
        return cubin, probe
    keep = [name for name in probe.name_expressions if name in cubin.lowered_names]
    second = plan_targets([*probe.targets, *more], keep)
    # Without its types a kernel can still be declared, so this compilation may fail.
    with contextlib.suppress(CompileError):
        return attempt(second), second
    return cubin, probe


def try_probe(attempt: Callable[[Probe], Cubin], probe: Probe) -> tuple[Cubin, Probe]:
    """Compile with a probe, else with what of it compiles, else without; return what was used.

    Raises
    ------
    CompileError
        The source itself does not compile.
    """
    try:
        return attempt(probe), probe
    except CompileError as error:
        if not probe.name_expressions:
            raise
        rest = probe.surviving(error.log)
    try:
        return attempt(rest), rest
    except CompileError:
        if not rest.name_expressions:
            raise
    # An error that is left now is the user's own, and tells nothing of probes.
    return attempt(Probe()), Probe()


def open_targets(
    signatures: Iterable[KernelSignature], facts: SourceFacts, tried: Iterable[Target]
) -> list[Target]:
    """Return probes for kernels of the image whose types are still open."""
    qualified = {kernel.name: kernel.qualified for kernel in facts.kernels if kernel.extern_c}
    known = {squeeze(target.expression) for target in tried}
    targets = []
    for signature in signatures:
        if not signature.problem:
            continue
        if signature.symbol.startswith("_Z"):
            target = Target(signature.display)
        else:
            expression = qualified.get(signature.symbol, signature.symbol)
            target = Target(expression, signature.symbol)
        if squeeze(target.expression) not in known:
            targets.append(target)
    return targets


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
    return tuple(_resolve(kernel, facts, types, trust_source) for kernel in cubin.kernels)


def _resolve(
    kernel: Kernel, facts: SourceFacts, types: Mapping[str, tuple[str, ...]], trust_source: bool
) -> KernelSignature:
    name = function_name(kernel.name)
    texts = types.get(kernel.name, types.get(squeeze(name.display), spelled_types(name)))
    fact = _fact(kernel, name, texts, facts)
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
        if from_source:
            _refuse_unknown(parsed)
        title = f"kernel {name.display!r}"
        declared = [Param(*pair) for pair in zip(_fit(names, len(parsed)), parsed, strict=True)]
        return signature._replace(params=check(tuple(declared), kernel, title))
    except ValueError as error:
        remedy = f"declare them, such as {suggestion(kernel, names=names)}"
        problem = f"the parameters of kernel {name.display!r} are not known: {error}\n{remedy}"
        return signature._replace(problem=problem)


def _refuse_unknown(types: Sequence[CxxType]) -> None:
    for declared in types:
        if declared.size is None:
            raise ValueError(f"{declared.text!r} may be any type (the source names it only)")


def _fit(names: Sequence[str], count: int) -> list[str]:
    return [*names[:count], *(f"arg{index}" for index in range(len(names), count))]


def _fact(
    kernel: Kernel, name: FunctionName, texts: tuple[str, ...] | None, facts: SourceFacts
) -> KernelFact | None:
    """Return the declaration of a kernel of the image: its definition, if that has all names."""
    found = []
    for fact in facts.kernels:
        if fact.extern_c:
            matches = fact.name == kernel.name
        else:
            own = squeeze(fact.qualified)
            matches = own in (squeeze(name.display), name.qualified) and name.params is not None
        if matches and fact.params is not None and len(fact.params) == len(kernel.params):
            found.append(fact)
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
