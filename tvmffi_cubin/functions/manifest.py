"""`manifest`: what a shared object says of itself: functions, kernels, images, what made it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..device.image import Image
from ..launches import SCHEMA
from .exports import Exports

if TYPE_CHECKING:
    from ..inline.request import Request
    from ..inline.tools import Toolset


def manifest(
    request: Request,
    *,
    tools: Toolset,
    images: Sequence[Image],
    exports: Exports,
    archs: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what the shared object says of itself, as JSON values."""
    compiler = tools.host.compiler.splitlines()
    said: dict[str, Any] = {
        "schema": SCHEMA,
        "name": request.name,
        "functions": exports.plan.functions,
        "kernels": [
            [x.signature.kernel.name, x.signature.name.display, x.image]
            for x in exports.plan.kernels
        ],
        "images": {
            **{i.name: i.facts for i in images},
            **{name: {"file": path} for name, path in image_paths(request).items()},
        },
        "bound": [x.facts for (function, _), x in exports.plan.slots.items() if function is None],
        # Of the machine nothing but its compiler's version.
        "versions": {
            "tvmffi_cubin": __version__,
            "tvm_ffi": tools.tvm_ffi_version,
            "host_compiler": next((x.strip() for x in compiler if " version " in x), ""),
        },
    }
    # Without these options the functions could not be built again as they are.
    if request.bound_params:
        said["bound_params"] = request.bound_params
    if any(image.cubin.kind == "ptx" for image in images):
        said["ptx"] = "keep"
    if tools.nvcc is not None:
        said["versions"]["nvcc"] = tools.nvcc.version
    if request.is_by_nvcc:
        said["archs"] = list(archs)
    return said


def image_paths(request: Request) -> dict[str, str]:
    """Return the paths of the images that lie in files, by name."""
    return {name: os.fspath(x.file) for name, x in request.image_files.items()}
