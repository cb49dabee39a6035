"""`wanted_instances`: the instances of templates that a request asks for."""

from __future__ import annotations

from .request import Request
from .source import DEVICE_IMAGE

__all__ = ["wanted_instances"]


def wanted_instances(request: Request) -> tuple[str, ...]:
    """Return the template instances that are asked for, as written; they exist only then."""
    launches = [x for export in request.functions or () for x in export.launches or ()]
    # What is in another image is no instance of the sources' own.
    own = [launch for launch in launches if launch.image in (None, DEVICE_IMAGE)]
    kernels = [launch.kernel for launch in own if launch.kernel is not None]
    return (*request.name_expressions, *(kernel for kernel in kernels if "<" in kernel))
