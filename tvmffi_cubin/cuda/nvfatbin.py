"""Joins images for several architectures to a fatbin, through nvFatbin."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from ..kernels.cubin import Cubin
from .arch import check_archs
from .libraries import find_cuda, library


def join(cubins: Sequence[Cubin]) -> Cubin:
    """Return a fatbin of cubins and PTX, each for an architecture of its own, in one order."""
    by_arch = {cubin.arch: cubin for cubin in cubins}
    ordered = [by_arch[arch] for arch in check_archs(list(by_arch))]
    nvfatbin = library("nvFatbin", find_cuda().require("nvfatbin"))
    handle = ctypes.c_void_p()
    # What is compressed can neither be inspected everywhere nor loaded without the time it takes.
    options = (ctypes.c_char_p * 1)(b"-compress=false")
    nvfatbin.call("Create", ctypes.byref(handle), options, ctypes.c_size_t(1))
    for cubin in ordered:
        name, number = cubin.arch.encode(), cubin.arch.partition("_")[2].encode()
        if cubin.kind == "ptx":
            text = cubin.image.rstrip(b"\0") + b"\0"
            nvfatbin.call("AddPTX", handle, text, ctypes.c_size_t(len(text)), number, name, b"")
        else:
            length = ctypes.c_size_t(len(cubin.image))
            nvfatbin.call("AddCubin", handle, cubin.image, length, number, name)
    image = nvfatbin.read("Get", handle, size="Size")
    nvfatbin.call("Destroy", ctypes.byref(handle))
    versions = {cubin.cuda_version for cubin in ordered}
    return Cubin(
        image,
        arch=", ".join(cubin.arch for cubin in ordered),
        lowered_names={k: v for cubin in ordered for k, v in cubin.lowered_names.items()},
        log="\n".join(dict.fromkeys(cubin.log for cubin in ordered if cubin.log)),
        kind="fatbin",
        cuda_version=versions.pop() if len(versions) == 1 else "",
    )
