"""From source and image to typed kernels: names from the source, types from NVRTC, sizes checked.

What cannot be known is no guess: the signature then carries a `problem` that says what to declare.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ..errors import CompileError
from ..sources.facts import SourceFacts
from ..sources.reader import read
from .probe import Probe, Target, plan, plan_targets, squeeze

if TYPE_CHECKING:
    from ..kernels.cubin import Cubin
    from .signature import KernelSignature


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
    facts = read(source) if facts is None else facts
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
    # NVRTC has worked meanwhile without what only its result needs.
    from .parameters import resolve

    found = resolve(facts, cubin, probe.types(cubin.lowered_names))
    if any(signature.problem for signature in found):
        more = open_targets(found, facts, planned.targets)
        cubin, probe = _again(attempt, cubin, probe, more)
        found = resolve(facts, cubin, probe.types(cubin.lowered_names), trust_source=True)
    lowered = probe.without(cubin.lowered_names)
    return dataclasses.replace(cubin, lowered_names=lowered), found


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
