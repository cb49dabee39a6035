"""`compile_files`: CUDA source files to one image, with the headers that they may include."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from ..cuda import nvrtc
from ..cuda.arch import Archs
from ..kernels.cubin import Cubin
from ..sources import Source
from .request import Request, SourceFiles, make_request


def compile_files(
    sources: Sequence[Source],
    *,
    arch: Archs = None,
    options: Sequence[str] = (),
    name_expressions: Sequence[str] = (),
    include_paths: Sequence[str] = (),
    target_type: str = "cubin",
) -> Cubin:
    """Compile CUDA sources; several are separate units, linked to a cubin or a fatbin.

    Arguments and errors are those of `nvrtc.compile`; `target_type` may be ``"fatbin"`` too, for
    one architecture. Several architectures make a fatbin in any case.
    """
    request = _request(sources, options, include_paths, name_expressions)
    if target_type in ("cubin", "fatbin"):
        from ..device.compile import compile_device

        archs = nvrtc.resolve_archs(arch, options)
        cubin = compile_device(request, request.files.cuda, archs).cubin
        if target_type == "fatbin" and cubin.kind != "fatbin":
            from ..cuda.nvfatbin import join

            return join([cubin])
        return cubin
    if len(sources) > 1:
        raise ValueError(f"{target_type} is made of one file; several are linked to a cubin")
    return nvrtc.compile(
        sources[0].text,
        name=sources[0].name,
        arch=arch,
        options=options,
        name_expressions=name_expressions,
        include_paths=include_paths,
        source_include=True,
        target_type=target_type,
    )


def _request(
    sources: Sequence[Source],
    options: Sequence[str],
    include_paths: Sequence[str],
    name_expressions: Sequence[str] = (),
) -> Request:
    return make_request(
        "compiled",
        files=SourceFiles(cuda=tuple(sources)),
        name_expressions=name_expressions,
        extra_cuda_cflags=options,
        extra_include_paths=include_paths,
    )


def headers(
    sources: Sequence[Source], *, options: Sequence[str] = (), include_paths: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the user's headers that sources may include, directly or not: too many, if any.

    Those of CUDA and of this package are left out.
    """
    from .headers import HeaderSearch
    from .tools import find_tools

    request = _request(sources, options, include_paths)
    search = HeaderSearch(request, find_tools(needs_cuda=True))
    found = dict.fromkeys(map(os.path.normpath, search.device(request.files.cuda).read))
    own = tuple(f"{folder}/" for folder in search.device_folders)
    return tuple(path for path in found if not path.startswith(own))


def make_rule(target: str, prerequisites: Sequence[str]) -> str:
    """Return a rule as compilers write it into a depfile, for make and ninja."""

    def escaped(path: str) -> str:
        return re.sub(r"([ #])", r"\\\1", path).replace("$", "$$")

    lines = " \\\n  ".join(map(escaped, prerequisites))
    return f"{escaped(target)}: {lines}\n"
