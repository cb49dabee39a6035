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
from ..functions.assembly import registration
from ..host.inputs import Inputs
from ..host.process import Later
from ..sources.facts import read
from ..sources.sort import Sources
from ..sources.source import DEVICE_IMAGE
from .mixed_device import device_code
from .mixed_unit import MixedParts, MixedUnit, UnitBuilder
from .pipeline import Build
from .request import Request


class MixedModule(NamedTuple):
    """What the mixed sources of a module were compiled to, and what was read."""

    units: tuple[MixedParts, ...]
    images: dict[str, Image]  # by name
    inputs: tuple[Inputs, ...]

    @property
    def tables(self) -> dict[str, str]:
        """The texts of the units' tables, by the names of their images."""
        return {
            x.unit.image: registration(x.code.tag, x.unit.image if x.image else None, x.symbols)
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
        return frozenset(name for parts in self.units for name, _ in parts.code.exports)


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
    device = None
    if sources.device and len(units) > 1:
        names = frozenset(x.name for one in sources.device for x in read(one.text).kernels)
        beside = wanted._replace(request=of_names(request, names))
        *others, last = sources.device
        device = Later(partial(device_code, beside, dict.fromkeys(wanted.archs, last), others))
    parts = tuple(in_parallel(lambda unit: UnitBuilder(wanted, known, unit).run(), units))
    images = {x.unit.image: x.image for x in parts if x.image is not None}
    inputs = [found for x in parts for found in x.inputs]
    if device is not None:
        image, of_device = device.result()
        images, inputs = {DEVICE_IMAGE: image, **images}, [of_device, *inputs]
    return MixedModule(parts, images, tuple(inputs))


def _units(request: Request, sources: Sources) -> tuple[MixedUnit, ...]:
    image = _image_name(request, sources)
    if len(sources.mixed) == 1:
        unit = sources.mixed[0]
        if len((*unit, *sources.device)) == 1:  # messages call it as any source that is alone
            unit = (unit[0]._replace(label=f"{request.name}.cu"),)
        return (MixedUnit(unit, sources.device, image, True),)
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
