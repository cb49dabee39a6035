"""`compile_device`: from device sources to the image to embed."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..cuda import nvrtc
from ..cuda.arch import is_ptx, number_of
from ..cuda.options import nvrtc_options
from ..cuda.program import in_parallel
from ..errors import CompileError
from ..kernels.cubin import Cubin
from ..kernels.demangle import function_name, spelled_types, squeeze
from .units import SEPARATE, Probe, Types, Unit, make_units, wanted_instances, with_hints

if TYPE_CHECKING:
    from ..inline.request import Request, Source
    from .image import Image, KernelSignature


def compile_device(request: Request, sources: tuple[Source, ...], archs: tuple[str, ...]) -> Image:
    """Compile a request's sources for NVRTC, in order; several architectures give a fatbin.

    `archs` is empty if the architectures could not be determined before.
    """
    archs = archs or nvrtc.resolve_archs(options=request.cuda_cflags)
    units = make_units(sources, request)
    images = in_parallel(lambda arch: _Compiler(request, units, arch).image(), archs)
    return images[0] if len(images) == 1 else joined(images)


def joined(images: Sequence[Image]) -> Image:
    """Join images, each of which may have its own kernels, into a fatbin."""
    cubin = nvrtc.join([image.cubin for image in images])
    found = {x.kernel.name: x for image in reversed(images) for x in image.signatures}
    return images[0]._replace(cubin=cubin, signatures=tuple(found[x.name] for x in cubin.kernels))


class _Compiler:
    """Compiler of a request's units to an image for one architecture."""

    def __init__(self, request: Request, units: tuple[Unit, ...], arch: str) -> None:
        self._request, self._units, self._arch = request, units, arch
        # What units are compiled to, and for which architecture.
        self._target_type, self._unit_arch = "cubin", arch
        if len(units) > 1 or request.device_libraries:
            from ..cuda.nvjitlink import linkable

            # Only LTO-IR links to PTX, and only LTO-IR can refer to what LTO-IR defines.
            kinds = [linkable(given).kind for given in request.device_libraries]
            is_lto = request.lto or is_ptx(arch) or "ltoir" in kinds
            self._target_type = "ltoir" if is_lto else "relocatable"
            self._unit_arch = f"sm_{number_of(arch)}" if is_ptx(arch) else arch

    def image(self) -> Image:
        """Compile all units in parallel; link them if there are several, or device libraries."""
        homes = {x: self._home(x) for x in dict.fromkeys(wanted_instances(self._request))}

        def build(unit: Unit) -> tuple[Cubin, Types]:
            own = [x for x, home in homes.items() if home is unit]
            return self._build(unit, unit.probe(own), own)

        done = in_parallel(build, self._units)
        cubins = [cubin for cubin, _ in done]
        types = {k: v for _, told in done for k, v in told.items()}
        cubin = cubins[0] if self._target_type == "cubin" else self._link(cubins)
        names = {x: symbol for x, symbol in cubin.lowered_names.items() if x in homes}
        cubin = dataclasses.replace(cubin, lowered_names=names)
        # Imported this late so that NVRTC does not wait for what only its result needs.
        from .image import Image

        return Image("", cubin, self._signatures(cubin, types))

    def _build(self, unit: Unit, probe: Probe, wanted: Sequence[str] = ()) -> tuple[Cubin, Types]:
        """Compile with a probe, else with the part of it that compiles, else without it."""
        whole = probe
        while True:
            names = tuple(dict.fromkeys((*wanted, *probe.name_expressions)))
            try:
                cubin = self._compile(unit, names, probe.epilogue)
                return cubin, probe.types(cubin.lowered_names)
            except CompileError as error:
                if not probe.kernels:
                    raise with_hints(error, self._hints(error.log)) from None
                probe = probe.surviving(error.log) if probe is whole else Probe()

    def _hints(self, log: str) -> list[str]:
        if "nv_mangled_name" in log:  # how NVRTC marks a name expression
            kernels = dict.fromkeys(x.qualified for unit in self._units for x in unit.facts.kernels)
            return [f"kernels in the source: {', '.join(kernels) or 'none'}"]
        return [SEPARATE] if len(self._units) > 1 and "is undefined" in log else []

    def _compile(self, unit: Unit, name_expressions: Sequence[str], epilogue: str = "") -> Cubin:
        cubin = nvrtc.compile(
            unit.text + epilogue,
            name=unit.name,
            arch=self._unit_arch,
            options=nvrtc_options(self._request.cuda_cflags),
            name_expressions=name_expressions,
            include_paths=self._request.include_paths,
            source_include=unit.is_file,
            target_type=self._target_type,
            use_pch=self._request.use_pch,
        )
        return dataclasses.replace(cubin, name=unit.name)

    def _home(self, expression: str) -> Unit:
        """Return the unit that contains what an expression names."""
        name = squeeze(expression).lstrip("&:").partition("<")[0]
        for unit in self._units:
            defined = [kernel.qualified for kernel in unit.facts.kernels if kernel.defined]
            if name in (*defined, *(found.qualified for found in unit.facts.definitions)):
                return unit
        # It is in a header or a macro: the only way to find out is to try.
        for unit in self._units[:-1]:
            with contextlib.suppress(CompileError):
                self._compile(unit, (expression,))
                return unit
        return self._units[-1]

    def _link(self, cubins: Sequence[Cubin]) -> Cubin:
        from ..cuda.nvjitlink import link_inputs, linkable
        from ..cuda.options import link_options

        linked = link_inputs(
            [*cubins, *map(linkable, self._request.device_libraries)],
            arch=self._arch,
            lto=self._request.lto,
            options=link_options(self._request.cuda_cflags),
        )
        log = "\n".join(filter(None, (*(cubin.log for cubin in cubins), linked.log)))
        return dataclasses.replace(linked, log=log)

    def _signatures(self, cubin: Cubin, types: Types) -> tuple[KernelSignature, ...]:
        """Return the kernels of an image; ask NVRTC once more if types are unknown."""
        from .image import signatures

        facts = [x for unit in self._units for x in unit.facts.kernels]
        if self._request.device_libraries:
            # Kernels from a library are not exported unless they are named.
            named = cubin.lowered_names.values()
            return tuple(
                x._replace(is_own=x.place is not None or x.kernel.name in named)
                for x in signatures(cubin, facts, types)
            )
        names = (function_name(x.name) for x in cubin.kernels if x.name not in types)
        if unknown := tuple(name.display for name in names if spelled_types(name) is None):
            for unit in self._units:
                types |= self._build(unit, Probe(unknown))[1]
        return signatures(cubin, facts, types)
