"""`compile_device`: from device sources to the image that is embedded."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..cuda import nvrtc
from ..cuda.arch import is_ptx, number_of
from ..cuda.options import nvrtc_options
from ..cuda.program import in_parallel
from ..errors import CompileError
from ..kernels.cubin import Cubin
from ..kernels.demangle import function_name, spelled_types, squeeze
from ..sources import DEVICE_IMAGE, Source
from ..sources.facts import KernelFact
from .probe import Probe, Types, plan
from .units import SEPARATE, Unit, make_units, wanted_instances, with_hints

if TYPE_CHECKING:
    from ..inline.request import Request
    from .image import Image
    from .signature import KernelSignature


def compile_device(request: Request, sources: tuple[Source, ...], archs: tuple[str, ...]) -> Image:
    """Compile a request's sources for NVRTC, in order; several architectures give a fatbin.

    Sources are compiled separately and linked; one that is alone, but for headers before it, is
    compiled to an image at once. `archs` is empty where they could not be found out before. Raises
    what `tvmffi_cubin.load_inline` does.
    """
    archs = archs or nvrtc.resolve_archs(options=request.cuda_cflags)
    units = make_units(sources, request)
    images = in_parallel(lambda arch: _Compiler.of(request, units, arch).image(), archs)
    return images[0] if len(images) == 1 else joined(images)


def joined(images: Sequence[Image]) -> Image:
    """Return the fatbin of images, each of which may have kernels of its own."""
    cubin = nvrtc.join([image.cubin for image in images])
    found = {x.kernel.name: x for image in reversed(images) for x in image.signatures}
    signatures = tuple(found[x.name]._replace(kernel=x) for x in cubin.kernels)
    return images[0]._replace(cubin=cubin, signatures=signatures)


class _Compiled(NamedTuple):
    """A unit, the probe that was in it, and what both were compiled to."""

    unit: Unit
    probe: Probe
    cubin: Cubin


class _Compiler(NamedTuple):
    """Makes the image of the units of a request for one architecture."""

    request: Request
    units: tuple[Unit, ...]
    arch: str
    target_type: str  # what units are compiled to, for `unit_arch`
    unit_arch: str

    @classmethod
    def of(cls, request: Request, units: tuple[Unit, ...], arch: str) -> _Compiler:
        if len(units) == 1 and not request.device_libraries:
            return cls(request, units, arch, "ptx" if is_ptx(arch) else "cubin", arch)
        from ..cuda.nvjitlink import linkable

        # Of PTX nothing else is linked; what LTO-IR defines is only there for LTO-IR.
        lto = request.lto or is_ptx(arch)
        lto = lto or any(linkable(given).kind == "ltoir" for given in request.device_libraries)
        unit_arch = f"sm_{number_of(arch)}" if is_ptx(arch) else arch
        return cls(request, units, arch, "ltoir" if lto else "relocatable", unit_arch)

    def image(self) -> Image:
        """Compile all units, several at a time; link them where there is more than one."""
        homes: dict[str, list[str]] = defaultdict(list)
        for expression in dict.fromkeys(wanted_instances(self.request)):
            homes[self._home(expression).name].append(expression)

        def build(unit: Unit) -> _Compiled:
            wanted = homes.get(unit.name, [])
            return self._build(unit, plan(unit.facts.kernels, wanted), wanted)

        done = in_parallel(build, self.units)
        is_linked = self.target_type in ("relocatable", "ltoir")
        cubin = self._link(done) if is_linked else done[0].cubin
        names = {x: y.cubin.lowered_names[x] for y in done for x in homes.get(y.unit.name, ())}
        cubin = dataclasses.replace(cubin, lowered_names=names)
        # NVRTC has worked meanwhile without what only its result needs.
        from .image import Image

        return Image(DEVICE_IMAGE, cubin, self._signatures(done, cubin))

    # One unit

    def _build(self, unit: Unit, probe: Probe, wanted: Sequence[str] = ()) -> _Compiled:
        """Compile with a probe, else with what of it compiles, else without."""
        whole = probe
        while True:
            names = tuple(dict.fromkeys((*wanted, *probe.name_expressions)))
            try:
                return _Compiled(unit, probe, self._compile(unit, names, probe.epilogue))
            except CompileError as error:
                if not probe.name_expressions:
                    raise self._explained(error) from None
                probe = probe.surviving(error.log) if probe is whole else Probe()

    def _explained(self, error: CompileError) -> CompileError:
        hints = []
        if "nv_mangled_name" in error.log:  # so NVRTC marks a name expression
            kernels = dict.fromkeys(x.qualified for unit in self.units for x in unit.facts.kernels)
            hints.append(f"the source's kernels are: {', '.join(kernels) or 'none'}")
        elif len(self.units) > 1 and "is undefined" in error.log:
            hints.append(SEPARATE)
        return with_hints(error, hints)

    def _compile(
        self, unit: Unit, name_expressions: Sequence[str] = (), epilogue: str = ""
    ) -> Cubin:
        return nvrtc.compile(
            unit.text + epilogue,
            name=unit.name,
            arch=self.unit_arch,
            options=nvrtc_options(self.request.cuda_cflags),
            name_expressions=name_expressions,
            include_paths=self.request.include_paths,
            source_include=unit.is_file,
            target_type=self.target_type,
            use_pch=self.request.use_pch,
        )

    def _home(self, expression: str) -> Unit:
        """Return the unit that has what an expression names."""
        name = squeeze(expression).lstrip("&:").partition("<")[0]
        for unit in self.units:
            defined = [kernel.qualified for kernel in unit.facts.kernels if kernel.defined]
            if name in (*defined, *(found.qualified for found in unit.facts.definitions)):
                return unit
        # A header or a macro has it: there is nothing but to try.
        for unit in self.units[:-1]:
            with contextlib.suppress(CompileError):
                self._compile(unit, (expression,))
                return unit
        return self.units[-1]

    # All units

    def _link(self, done: Sequence[_Compiled]) -> Cubin:
        from ..cuda.nvjitlink import link_inputs, linkable
        from ..cuda.options import link_options

        units = [dataclasses.replace(one.cubin, name=one.unit.name) for one in done]
        linked = link_inputs(
            [*units, *map(linkable, self.request.device_libraries)],
            arch=self.arch,
            lto=self.request.lto,
            options=link_options(self.request.cuda_cflags),
        )
        log = "\n".join(filter(None, (*(unit.log for unit in units), linked.log)))
        return dataclasses.replace(linked, log=log)

    def _signatures(self, done: Sequence[_Compiled], cubin: Cubin) -> tuple[KernelSignature, ...]:
        """Return the kernels of an image; NVRTC is asked once more where types are not known."""
        from .signature import resolve

        facts, types = _facts(self.units), _types(done)
        if self.request.device_libraries:
            own = {*cubin.lowered_names.values()}
            if self.target_type == "relocatable":
                own |= {kernel.name for one in done for kernel in one.cubin.kernels}
            return tuple(
                x._replace(from_library=not (x.line or x.kernel.name in own))
                for x in resolve(cubin, facts, types)
            )
        names = {x.name: function_name(x.name) for x in cubin.kernels if x.name not in types}
        unknown = [name.display for name in names.values() if spelled_types(name) is None]
        if unknown:
            qualified = {fact.name: fact.qualified for fact in facts if fact.extern_c}
            more = Probe(tuple(qualified.get(name, name) for name in unknown))
            types |= _types([self._build(unit, more) for unit in self.units])
        return resolve(cubin, facts, types)


def _types(done: Sequence[_Compiled]) -> Types:
    """Return what the units' compilers told."""
    return {k: v for x in done for k, v in x.probe.types(x.cubin.lowered_names).items()}


def _facts(units: Sequence[Unit]) -> list[KernelFact]:
    """Return the kernels of all units, with lines in one order."""
    facts, lines = [], 0
    for unit in units:
        facts += [kernel._replace(line=lines + kernel.line) for kernel in unit.facts.kernels]
        lines += len(unit.text) + 1
    return facts
