"""`wanted_instances`: the instances of templates that a request asks for."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..inline.request import Request


# Of a name expression: what may be before the name, such as a cast, and its namespaces.
_NAME = r"(?:\s|&|\((?:[^()]|\([^()]*\))*\))*(?:::)?(?:\w+\s*::\s*)*(\w+)"


def wanted_instances(request: Request) -> tuple[str, ...]:
    """Return the template instances that are asked for, as written; they exist only then."""
    launches = [x for export in request.functions or () for x in export.launches]
    # What is in another image is no instance of the sources' own.
    given = {*request.images, *request.image_files}
    own = [launch for launch in launches if launch.image not in given]
    kernels = [launch.kernel for launch in own if launch.kernel is not None]
    return (*request.name_expressions, *(kernel for kernel in kernels if "<" in kernel))


def base_name(expression: str) -> str:
    """Return the name in a name expression, without namespaces and template arguments."""
    match = re.match(_NAME, expression)
    return match[1] if match else expression


def of_names(request: Request, names: Collection[str]) -> Request:
    """Return a request that asks for the instances of some templates alone, by their names."""
    wanted = tuple(x for x in wanted_instances(request) if base_name(x) in names)
    return request._replace(functions=None, name_expressions=wanted)
