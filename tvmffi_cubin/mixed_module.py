"""`MixedModule`: the mixed units of a module, compiled side by side, and the images of all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .cache.entry import Entry
from .cache.store import Cache
from .cuda import nvrtc
from .cuda.parallel import in_parallel
from .device.hints import with_hints
from .device.image import Image, may_be_named
from .device.instances import base_name, of_names, wanted_instances
from .device_object import DeviceCode, DeviceCompiler
from .errors import CompileError
from .host.later import Later
from .host_object import objects_of
from .item_words import is_kernel
from .kernels.demangle import demangle
from .kernels.elf import GLOBAL, Elf
from .mixed_build import MixedBuild
from .mixed_symbols import declared_names
from .mixed_table import mixed_table_unit
from .mixed_unit import MixedParts, MixedUnit
from .part_files import PartFiles
from .sources.reader import read
from .sources.sort import Sources
from .sources.source import DEVICE_IMAGE, Source
from .split import Split

if TYPE_CHECKING:
    from .inline.request import Request
    from .inline.tools import Toolset

__all__ = ["MixedModule", "compile_mixed"]

_UNRESOLVED = "Unresolved extern"
_OWN_CODE = (
    "each file with kernels and host functions has device code of its own: define it in a header "
    "that both include, or compile with compiler=\"nvcc\" and extra_cuda_cflags=['-rdc=true']"
)
_LAUNCHED = re.compile(r"(\w+)\s*(?:<.*>\s*)?<<<\.\.\.>>>\Z")


class MixedModule(NamedTuple):
    """What the mixed sources of a module were compiled to.

    Attributes
    ----------
    units : tuple of MixedParts
        Of each unit.
    device : Image or None
        Of the device sources that are linked with none of them.
    device_texts : tuple of str
        The texts of all images.
    files : tuple of PartFiles
        What was read for all.
    """

    units: tuple[MixedParts, ...]
    device: Image | None
    device_texts: tuple[str, ...]
    files: tuple[PartFiles, ...]

    @property
    def images(self) -> dict[str, Image]:
        """The images, by name."""
        own = {DEVICE_IMAGE: self.device, **{x.unit.image: x.device for x in self.units}}
        return {name: image for name, image in own.items() if image is not None}

    @property
    def tables(self) -> dict[str, str]:
        """The texts of the units' tables, by the names of their images."""
        return {
            x.unit.image: mixed_table_unit(
                x.tag, x.unit.image if x.device else None, x.kernels, x.variables, x.lines
            )
            for x in self.units
        }

    @property
    def hosts(self) -> tuple[Entry, ...]:
        """The entries of the host sides."""
        return tuple(parts.host for parts in self.units)

    @property
    def objects(self) -> tuple[str, ...]:
        """The paths of their objects."""
        return tuple(path for host in self.hosts for path in objects_of(host))

    @property
    def exported(self) -> frozenset[str]:
        """The functions that they export."""
        return frozenset(name for parts in self.units for name in parts.exported)


def compile_mixed(
    request: Request,
    sources: Sources,
    archs: tuple[str, ...],
    tools: Toolset,
    cache: Cache,
    given: Sequence[Image],
) -> MixedModule:
    """Compile the mixed sources of a request, each unit beside the others.

    Parameters
    ----------
    request, archs, tools, cache
        What is built, for which architectures, with which tools, and where it is kept.
    sources : Sources
        The request's, sorted.
    given : sequence of Image
        Images that come with it.

    Raises
    ------
    BuildError, CompileError, ToolchainError, TypeError, ValueError
        See `tvmffi_cubin.load_inline`.
    """
    known = frozenset(y for image in given for x in image.signatures for y in (x.name, x.symbol))
    units = _units(request, sources)
    if len(units) == 1:
        one = MixedBuild(request, units[0], archs, tools, cache, known).run()
        return MixedModule((one,), None, one.device_texts, one.files)
    archs = archs or nvrtc.resolve_archs(options=request.cuda_cflags)
    rest = _DeviceSources(request, sources.device, archs, tools, cache)

    def compile_one(unit: MixedUnit) -> MixedParts:
        try:
            return MixedBuild(request, unit, archs, tools, cache, known).run()
        except CompileError as error:
            raise with_hints(error, [_OWN_CODE] if _UNRESOLVED in error.log else []) from None

    device = Later(rest.compile) if sources.device else None
    parts = tuple(in_parallel(compile_one, units))
    _check_defined_once(parts)
    _check_instances(request, parts, rest)
    if not (request.is_object or request.files.binaries):
        _check_launches([x.cut for x in parts])
    image, files = device.result() if device else (None, None)
    return MixedModule(
        parts,
        image,
        (*(x.text for x in sources.device), *(text for x in parts for text in x.device_texts)),
        (*((files,) if files else ()), *(read for x in parts for read in x.files)),
    )


def _units(request: Request, sources: Sources) -> tuple[MixedUnit, ...]:
    image = _image_name(request, sources)
    if len(sources.mixed) == 1:
        return (MixedUnit(sources.mixed[0], sources.device, image, True),)
    first = 2 if sources.device else 1
    return tuple(
        MixedUnit(unit, (), image if number == 1 else f"{image}_{number}", False)
        for number, unit in enumerate(sources.mixed, first)
    )


def _image_name(request: Request, sources: Sources) -> str:
    """Return what the image is called; of an object, if nothing else is to know it, by the object.

    Others that are linked with it have images as well.
    """
    host = {*sources.host_functions, *(sources.exported_by_files or ())}
    named = {export.name for export in request.functions or ()} - host
    if not request.is_object or named or may_be_named(request):
        return DEVICE_IMAGE
    return f"{DEVICE_IMAGE}_{re.sub(r'[^0-9A-Za-z_]', '_', request.output.rpartition('.')[0])}"


@dataclass(frozen=True)
class _DeviceSources:
    """Device sources beside several mixed units: an image of their own."""

    request: Request
    sources: tuple[Source, ...]
    archs: tuple[str, ...]
    tools: Toolset
    cache: Cache

    @property
    def names(self) -> frozenset[str]:
        return frozenset(x.name for one in self.sources for x in read(one.text).kernels)

    def compile(self) -> tuple[Image, PartFiles]:
        request = of_names(self.request, self.names)
        compiler = DeviceCompiler(request, self.archs, self.tools, self.cache)
        return compiler.obtain(DeviceCode(self.sources, {}, self.sources, tells_lines=True), ())


def _check_instances(request: Request, parts: Sequence[MixedParts], rest: _DeviceSources) -> None:
    """Refuse instances that were asked for and that no unit has."""
    names = rest.names.union(*(declared_names(x.cut) for x in parts))
    for wanted in wanted_instances(request):
        if base_name(wanted) not in names:
            raise ValueError(
                f"{wanted!r} is to be instantiated, and none of the sources declares "
                f"{base_name(wanted)!r}: check the name in functions and name_expressions"
            )


def _check_defined_once(parts: Sequence[MixedParts]) -> None:
    """Refuse what two units define: the linker would name objects of ours, and no file."""
    homes: dict[str, str] = {}
    for unit in parts:
        file = unit.unit.sources[0].name
        for symbol in Elf(unit.host.so.read_bytes()).symbols():
            if not symbol.is_placed or symbol.binding != GLOBAL:
                continue
            other = homes.setdefault(symbol.name, file)
            if other != file:
                raise ValueError(
                    f"{demangle(symbol.name)} is defined in {other} and in {file}: make it static "
                    "where each file has its own, inline where a header defines it, else declare "
                    "it in one of them"
                )


def _check_launches(cuts: Sequence[Split]) -> None:
    """Refuse launches of kernels that are declared, and that no unit defines."""
    defined = {kernel.name.rpartition("::")[2] for cut in cuts for kernel in cut.kernels}
    for cut in cuts:
        nodes = (item for _, item, _ in cut.decided.nodes)
        declared = {item.names[-1] for item in nodes if is_kernel(item) and item.names}
        for launch in cut.launches:
            match = _LAUNCHED.search(launch)
            if match and match[1] in declared - defined:
                raise ValueError(
                    f"{launch} launches a kernel that is declared, and none of the files defines "
                    "it: add the one that does to sources"
                )
