"""`compile_device`: from device sources to the image that is embedded."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ..cuda import nvrtc
from ..cuda.arch import is_ptx
from ..sources.facts import KernelFact
from ..sources.source import DEVICE_IMAGE, Source
from .compiler import Compiled, Compiler
from .probe import Target, Types, is_own, squeeze
from .units import Unit, make_units

if TYPE_CHECKING:
    from ..inline.request import Request
    from ..kernels.cubin import Cubin
    from .image import Image
    from .signature import KernelSignature

_Value = TypeVar("_Value")


def compile_device(request: Request, sources: tuple[Source, ...], archs: tuple[str, ...]) -> Image:
    """Compile a request's sources for NVRTC, in order; several architectures give a fatbin.

    Sources are compiled separately and linked; one that is alone, but for headers before it, is
    compiled to an image at once. `archs` is empty where they could not be found out before. Raises
    what `tvmffi_cubin.load_inline` does.
    """
    archs = archs or nvrtc.resolve_archs(options=request.cuda_cflags)
    compile_for = partial(_compile_for, request, make_units(sources, request))
    if len(archs) == 1:
        return compile_for(archs[0])
    from ..cuda.nvfatbin import join
    from ..cuda.program import in_parallel

    images = in_parallel(compile_for, archs)
    cubin = join([image.cubin for image in images])
    return images[0]._replace(cubin=cubin, signatures=merged_signatures(cubin, images))


def _compile_for(request: Request, units: tuple[Unit, ...], arch: str) -> Image:
    """Compile for one architecture, and link where there is more than one unit."""
    if len(units) > 1 or request.device_libraries:
        from . import link

        compiler = Compiler(request, units, *link.unit_target(request, arch))
        compiled = compiler.compile_all()
        cubin = link.link(request, compiled, arch)
    else:
        compiler = Compiler(request, units, arch, "ptx" if is_ptx(arch) else "cubin")
        compiled = compiler.compile_all()
        cubin = compiled[0].cubin
    # NVRTC has worked meanwhile without what only its result needs.
    from .image import Image

    cubin = dataclasses.replace(cubin, lowered_names=_lowered(compiled))
    return Image(DEVICE_IMAGE, cubin, _signatures(compiler, compiled, cubin))


def _signatures(
    compiler: Compiler, compiled: Sequence[Compiled], cubin: Cubin
) -> tuple[KernelSignature, ...]:
    """Return the kernels of an image; where their types are open, NVRTC is asked once more."""
    from .parameters import resolve

    facts = _facts(compiler.units)
    own = None
    if compiler.request.device_libraries:
        from .link import own_symbols

        own = {*cubin.lowered_names.values(), *own_symbols(compiled, cubin.arch)}

    def found(types: Types, *, is_last: bool) -> tuple[KernelSignature, ...]:
        signatures = resolve(facts, cubin, types, trust_source=is_last)
        if own is None:
            return signatures
        return tuple(
            s._replace(from_library=s.line is None and s.symbol not in own) for s in signatures
        )

    types = _types(compiled)
    signatures = found(types, is_last=False)
    open_ones = [s for s in signatures if s.problem and not s.from_library]
    if not open_ones:
        return signatures
    if more := _open_targets(open_ones, facts, compiled):
        types = {**_types([compiler.ask_again(done, more) for done in compiled]), **types}
    return found(types, is_last=True)


def _facts(units: Sequence[Unit]) -> list[KernelFact]:
    """Return the kernels of all units, with lines in one order."""
    facts, lines = [], 0
    for unit in units:
        facts += [kernel._replace(line=lines + kernel.line) for kernel in unit.facts.kernels]
        lines += len(unit.prologue) + len(unit.text) + 1
    return facts


def _open_targets(
    signatures: Sequence[KernelSignature], facts: Sequence[KernelFact], done: Sequence[Compiled]
) -> list[Target]:
    """Return probes for kernels of the image whose types are still open."""
    qualified = {kernel.name: kernel.qualified for kernel in facts if kernel.extern_c}
    tried = {squeeze(target.expression) for unit in done for target in unit.tried}
    targets = [
        Target(signature.display)
        if signature.symbol.startswith("_Z")
        else Target(qualified.get(signature.symbol, signature.symbol), signature.symbol)
        for signature in signatures
    ]
    return [target for target in targets if squeeze(target.expression) not in tried]


def _types(compiled: Sequence[Compiled]) -> Types:
    """Return what the units' compilers told; not by a name that is one of kernels in several."""
    homes: Counter[str] = Counter()
    for done in compiled:
        homes.update({squeeze(x.qualified) for x in done.unit.facts.kernels if x.defined})
    told = [done.probe.types(done.cubin.lowered_names) for done in compiled]
    return {name: types for name, types in _agreed(told).items() if homes[name] < 2}


def _lowered(compiled: Sequence[Compiled]) -> dict[str, str]:
    """Return the lowered names of all units, without the probes' own."""
    names = _agreed([done.cubin.lowered_names for done in compiled])
    return {name: symbol for name, symbol in names.items() if not is_own(name)}


def _agreed(told: Sequence[Mapping[str, _Value]]) -> dict[str, _Value]:
    """Return one mapping of several, without what is not the same in each that has it."""
    joined = {name: value for one in told for name, value in one.items()}
    return {
        name: value
        for name, value in joined.items()
        if all(one.get(name, value) == value for one in told)
    }


def merged_signatures(cubin: Cubin, images: Sequence[Image]) -> tuple[KernelSignature, ...]:
    """Return the signatures of a fatbin's kernels, each once, from the first member that knows it.

    A kernel that takes something else for one architecture than for another is a ValueError.
    """
    from .signature import signature_text

    kernels = {kernel.name: kernel for kernel in cubin.kernels}
    found: dict[str, tuple[str, KernelSignature]] = {}
    for image in images:
        for here in image.signatures:
            arch, known = found.get(here.symbol, (image.cubin.arch, here))
            types, others = ([param.type.text for param in x.params] for x in (known, here))
            if types != others and not (known.problem or here.problem):
                raise ValueError(
                    f"kernel {here.display!r} is {signature_text(known)} for {arch} and "
                    f"{signature_text(here)} for {image.cubin.arch}: callers cannot tell; give it "
                    "one parameter list, or two names"
                )
            better = here if known.problem else known
            found[here.symbol] = (arch, better._replace(kernel=kernels[here.symbol]))
    return tuple(signature for _, signature in found.values())
