"""From several compiled units, and device libraries, to one image."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..cuda.arch import is_ptx, number_of
from ..cuda.nvjitlink import link_inputs, linkable, symbols_of
from ..cuda.options import link_options
from ..kernels.cubin import Cubin
from .compiler import Compiled

if TYPE_CHECKING:
    from ..inline.request import Request


def unit_target(request: Request, arch: str) -> tuple[str, str]:
    """Return for which architecture units are compiled, and to what; PTX is made of LTO-IR."""
    # What LTO-IR defines is only there for what is LTO-IR, too.
    lto = request.lto or is_ptx(arch)
    lto = lto or any(linkable(given).kind == "ltoir" for given in request.device_libraries)
    code_arch = f"sm_{number_of(arch)}" if is_ptx(arch) else arch
    return code_arch, "ltoir" if lto else "relocatable"


def link(request: Request, compiled: Sequence[Compiled], arch: str) -> Cubin:
    """Link units and the request's libraries; a CompileError says what does not fit together."""
    units = [dataclasses.replace(done.cubin, name=done.unit.name) for done in compiled]
    inputs = [*units, *map(linkable, request.device_libraries)]
    linked = link_inputs(
        inputs,
        arch=arch,
        lto=request.lto,
        options=link_options(request.cuda_cflags),
        what="the device sources do not link",
    )
    log = "\n".join(filter(None, (*(unit.log for unit in units), linked.log)))
    return dataclasses.replace(linked, log=log)


def own_symbols(compiled: Sequence[Compiled], arch: str) -> Iterator[str]:
    """Yield what units define or use, as far as is known before they are linked."""
    for done in compiled:
        for symbol in symbols_of(done.cubin, arch):
            yield symbol.name
