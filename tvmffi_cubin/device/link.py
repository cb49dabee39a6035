"""From several device sources, or from device libraries too, to one image with signatures."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..cuda.arch import is_ptx, number_of
from ..cuda.nvjitlink import LinkFailure, check_fit, link_inputs, linkable, symbols_of
from ..cuda.options import link_options
from ..errors import CompileError
from ..kernels.cubin import Cubin
from ..sources.source import Source
from .hints import own_copy_hints
from .parameters import resolve
from .probe import squeeze
from .signature import KernelSignature
from .signatures import open_targets
from .unit_compiler import CompiledUnit, UnitCompiler
from .units import make_units

if TYPE_CHECKING:
    from ..inline.request import Request

__all__ = ["compile_and_link"]


def compile_and_link(
    request: Request, sources: Sequence[Source], arch: str
) -> tuple[Cubin, tuple[KernelSignature, ...]]:
    """Compile sources separately and link them.

    A source that is alone, but for headers before it, is compiled to an image at once.

    Parameters
    ----------
    request : Request
        Options, header folders, libraries, and the template instances that are wanted.
    sources : sequence of Source
        The device sources, in order.
    arch : str
        Such as ``"sm_90a"``; for ``"compute_90"`` the units are LTO-IR until they are PTX.

    Returns
    -------
    cubin : Cubin
        The image to embed.
    signatures : tuple of KernelSignature
        One for each kernel of it.

    Raises
    ------
    CompileError
        A source does not compile, or they do not fit together.
    ToolchainError, TypeError, ValueError
        See `tvmffi_cubin.load_inline`.
    """
    units = make_units(sources, request)
    libraries = [linkable(given) for given in request.device_libraries]
    if len(units) == 1 and not libraries:
        compiler = UnitCompiler(request, units, arch, "ptx" if is_ptx(arch) else "cubin")
        (done,) = compiler.compile_all()
        return _finish(compiler, [done], done.cubin, ())
    # What LTO-IR defines is only there for what is LTO-IR, too.
    lto = request.lto or is_ptx(arch) or any(x.kind == "ltoir" for x in libraries)
    code_arch = f"sm_{number_of(arch)}" if is_ptx(arch) else arch
    compiler = UnitCompiler(request, units, code_arch, "ltoir" if lto else "relocatable")
    for library in libraries:
        check_fit(library, arch)
    compiled = compiler.compile_all()
    _check_static_kernels(compiled, arch)
    options = link_options(request.cuda_cflags)
    linked = _link(compiler, compiled, libraries, arch, options)
    logs = (*(done.cubin.log for done in compiled), linked.log)
    image = dataclasses.replace(linked, log="\n".join(filter(None, logs)))
    return _finish(compiler, compiled, image, libraries)


def _link(
    compiler: UnitCompiler,
    compiled: Sequence[CompiledUnit],
    libraries: Sequence[Cubin],
    arch: str,
    options: Sequence[str],
) -> Cubin:
    inputs = [*map(_input, compiled), *libraries]
    try:
        return link_inputs(inputs, arch=arch, lto=compiler.request.lto, options=options)
    except LinkFailure as failure:
        hints = [x for name in failure.undefined for x in own_copy_hints(name, compiler.units)]
        raise failure.error(f"the device sources do not link for {arch}", hints) from None


def _input(done: CompiledUnit) -> Cubin:
    return dataclasses.replace(done.cubin, name=done.unit.name)


def _check_static_kernels(compiled: Sequence[CompiledUnit], arch: str) -> None:
    """Refuse static kernels of one name: an image has one kernel of each."""
    homes: dict[str, CompiledUnit] = {}
    for done in compiled:
        for kernel in done.unit.facts.kernels:
            symbol = done.cubin.lowered_names.get(kernel.qualified)
            if not kernel.internal or symbol is None:
                continue
            other = homes.setdefault(symbol, done)
            if other is not done:
                raise CompileError(
                    f"the device sources do not link for {arch}:\n{kernel.qualified} is a static "
                    f"kernel in {other.unit.name} and in {done.unit.name}: an image has one kernel "
                    "of a name; rename one",
                    options=(),
                )


def _finish(
    compiler: UnitCompiler,
    compiled: Sequence[CompiledUnit],
    image: Cubin,
    libraries: Sequence[Cubin],
) -> tuple[Cubin, tuple[KernelSignature, ...]]:
    """Return the image with its lowered names, and the signatures of its kernels."""
    facts = compiler.facts
    foreign = {symbol.name for x in libraries for symbol in symbols_of(x, image.arch)}
    signatures = resolve(facts, image, _types(compiled))
    open_ones = [s for s in signatures if s.problem and s.symbol not in foreign]
    tried = [target for done in compiled for target in done.tried]
    more = open_targets(open_ones, facts, tried)
    asked = [compiler.ask_again(done, more) for done in compiled] if more else compiled
    found = resolve(facts, image, _types(asked), trust_source=True)
    lowered = _lowered(compiled)
    if libraries:
        defined = (x for done in compiled for x in symbols_of(done.cubin, image.arch))
        own = {*lowered.values(), *(x.name for x in defined)}
        found = tuple(
            s if s.line is not None or s.symbol in own else s._replace(from_library=True)
            for s in found
        )
    return dataclasses.replace(image, lowered_names=lowered), found


def _types(compiled: Sequence[CompiledUnit]) -> dict[str, tuple[str, ...]]:
    """Return what the units' compilers told; not by a name that stands for several kernels."""
    kernels = (kernel for done in compiled for kernel in done.unit.facts.kernels)
    homes = Counter(squeeze(kernel.qualified) for kernel in kernels if kernel.defined)
    told: dict[str, set[tuple[str, ...]]] = {}
    for done in compiled:
        for name, types in done.probe.types(done.cubin.lowered_names).items():
            told.setdefault(name, set()).add(types)
    return {name: x.pop() for name, x in told.items() if len(x) == 1 and homes[name] < 2}


def _lowered(compiled: Sequence[CompiledUnit]) -> dict[str, str]:
    """Return the lowered names of all units, without those that are not the same in each."""
    symbols: dict[str, set[str]] = {}
    for done in compiled:
        for name, symbol in done.probe.without(done.cubin.lowered_names).items():
            symbols.setdefault(name, set()).add(symbol)
    return {name: found.pop() for name, found in symbols.items() if len(found) == 1}
