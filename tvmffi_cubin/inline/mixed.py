"""`compile_mixed`: the mixed units of a module, each side of each compiled beside the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ..cuda import nvrtc
from ..cuda.program import in_parallel
from ..device.image import Image
from ..device.units import of_names
from ..functions.registration import registration
from ..host.inputs import Inputs
from ..host.process import Later
from ..sources.facts import read
from ..sources.sort import Sources
from ..sources.source import DEVICE_IMAGE
from .mixed_device import DeviceCode, DeviceCompiler
from .mixed_unit import MixedParts, MixedUnit, UnitBuilder
from .pipeline import Build
from .request import Request

_LAUNCHED = re.compile(r"(\w+)\s*(?:<.*>\s*)?<<<\.\.\.>>>\Z")


class MixedModule(NamedTuple):
    """What the mixed sources of a module were compiled to.

    `device` is the image of the device sources that are linked with none of the units.
    """

    units: tuple[MixedParts, ...]
    device: Image | None
    device_texts: tuple[str, ...]
    files: tuple[Inputs, ...]

    @property
    def images(self) -> dict[str, Image]:
        """The images, by name."""
        own = {DEVICE_IMAGE: self.device, **{x.unit.image: x.device for x in self.units}}
        return {name: image for name, image in own.items() if image is not None}

    @property
    def tables(self) -> dict[str, str]:
        """The texts of the units' tables, by the names of their images."""
        return {
            x.unit.image: registration(x.tag, x.unit.image if x.device else None, x.symbols)
            for x in self.units
        }

    @property
    def objects(self) -> tuple[str, ...]:
        """The paths of their objects."""
        own = (str(parts.host.so) for parts in self.units)
        return tuple(dict.fromkeys((*own, *(parts.runtime for parts in self.units))))

    @property
    def exported(self) -> frozenset[str]:
        """The functions that they export."""
        return frozenset(name for parts in self.units for name in parts.exported)


def compile_mixed(wanted: Build, sources: Sources, given: Sequence[Image]) -> MixedModule:
    """Compile the mixed sources of a request, each unit beside the others.

    `sources` are the request's, sorted, and `given` the images that come with it. Raises as
    `tvmffi_cubin.load_inline`.
    """
    request = wanted.request
    if not wanted.archs:
        wanted = wanted._replace(archs=nvrtc.resolve_archs(options=request.cuda_cflags))
    signatures = [x for image in given for x in image.signatures]
    known = frozenset(name for x in signatures for name in (x.name.short, x.kernel.name))
    units = _units(request, sources)

    def build(unit: MixedUnit) -> MixedParts:
        return UnitBuilder(*wanted, known, unit).run()

    if len(units) == 1:
        one = build(units[0])
        return MixedModule((one,), None, one.device_texts, one.files)
    names = frozenset(x.name for one in sources.device for x in read(one.text).kernels)
    device = None
    if sources.device:
        compiler = DeviceCompiler(of_names(request, names), wanted.tools, wanted.cache)
        last = sources.device[-1]
        code = DeviceCode(dict.fromkeys(wanted.archs, last), sources.device[:-1])
        device = Later(partial(compiler.obtain, code, ()))
    parts = tuple(in_parallel(build, units))
    if not (request.is_object or request.files.binaries):
        _check_launches(parts)
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
    if not request.is_object or named or request.names_images:
        return DEVICE_IMAGE
    return f"{DEVICE_IMAGE}_{re.sub(r'[^0-9A-Za-z_]', '_', request.output.rpartition('.')[0])}"


def _check_launches(parts: Sequence[MixedParts]) -> None:
    """Refuse launches of kernels that no unit defines."""
    defined = {name.rpartition("::")[2] for x in parts for name in x.defined}
    for unit in parts:
        for launch in unit.launches:
            match = _LAUNCHED.search(launch)
            if match and match[1] in unit.names and match[1] not in defined:
                raise ValueError(
                    f"{launch} launches a kernel that is declared, and none of the files defines "
                    "it: add the one that does to sources"
                )
