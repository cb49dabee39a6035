"""`compile_mixed`: the mixed units of a module, each side of each compiled beside the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial, reduce
from operator import or_

from ..cuda import nvrtc
from ..cuda.program import in_parallel
from ..device.image import Image
from ..device.units import of_names
from ..host.process import Later
from ..sources import DEVICE_IMAGE
from ..sources.facts import read
from ..sources.sort import Sources
from .mixed_device import device_code
from .mixed_unit import Compiled, MixedUnit, UnitBuilder
from .request import Request
from .tools import Build


def compile_mixed(wanted: Build, sources: Sources, given: Sequence[Image]) -> Compiled:
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
    made = reduce(or_, in_parallel(lambda x: UnitBuilder(wanted, known, x).run(), units))
    if device is None:
        return made
    image, of_device = device.result()
    images = {DEVICE_IMAGE: image, **made.images}
    return made._replace(images=images, inputs=(of_device, *made.inputs))


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
