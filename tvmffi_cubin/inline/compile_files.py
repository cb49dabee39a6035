"""`compile_files`: CUDA source files to one image, with the headers that they may include."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ..cuda import libraries, nvrtc
from ..cuda.arch import Archs
from ..kernels.cubin import Cubin
from ..sources.source import source_text


def compile_files(
    files: Sequence[Path],
    *,
    arch: Archs = None,
    options: Sequence[str] = (),
    name_expressions: Sequence[str] = (),
    include_paths: Sequence[str] = (),
    target_type: str = "cubin",
) -> Cubin:
    """Compile CUDA source files; several are separate units, linked to a cubin or a fatbin.

    Arguments and errors are those of `nvrtc.compile`; `target_type` may be ``"fatbin"`` too, for
    one architecture. Several architectures make a fatbin in any case.
    """
    kind = "cubin" if target_type == "fatbin" else target_type
    if len(files) > 1:
        if kind != "cubin":
            raise ValueError(f"{target_type} is made of one file; several are linked to a cubin")
        cubin = _linked(files, arch, options, name_expressions, include_paths)
    else:
        (file,) = files
        source = source_text(str(file), file.read_bytes())
        if not source.strip():
            raise ValueError(f"{file} is empty; write CUDA C++ in it")
        cubin = nvrtc.compile(
            source,
            name=str(file),
            arch=arch,
            options=options,
            name_expressions=name_expressions,
            include_paths=include_paths,
            source_include=True,
            target_type=kind,
        )
    if target_type == "fatbin" and cubin.kind != "fatbin":
        from ..cuda.nvfatbin import join

        return join([cubin])
    return cubin


def _linked(
    files: Sequence[Path],
    arch: Archs,
    options: Sequence[str],
    name_expressions: Sequence[str],
    include_paths: Sequence[str],
) -> Cubin:
    from ..device.compile import compile_device
    from .files import read_files
    from .request import make_request

    if other := next((file for file in files if file.suffix != ".cu"), None):
        raise ValueError(f"{other} is no .cu file, as each of several has to be")
    request = make_request(
        "compiled",
        files=read_files(sources=[str(file) for file in files]),
        name_expressions=name_expressions,
        extra_cuda_cflags=options,
        extra_include_paths=include_paths,
    )
    archs = nvrtc.resolve_archs(arch, options)
    return compile_device(request, request.files.cuda, archs).cubin


def headers(
    files: Sequence[Path], *, options: Sequence[str] = (), include_paths: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the user's headers that files may include, directly or not: too many, if any.

    Those of CUDA and of this package are left out.
    """
    from ..cuda.options import preprocessor_flags
    from ..host.include_scan import scan

    system = (str(nvrtc.shim_dir()), *map(str, libraries.find_cuda().include_dirs))
    flags = preprocessor_flags(options)
    found: dict[str, None] = {}
    for file in files:
        read = scan(
            (flags.first_lines, file.read_bytes().decode("utf-8", "surrogateescape")),
            (*flags.folders, *map(os.path.abspath, include_paths)),
            system_dirs=system,
            directory=os.path.dirname(os.path.abspath(file)),
            defines=flags.macros,
        )
        found.update(dict.fromkeys(map(os.path.normpath, read.files)))
    own = tuple(f"{folder}/" for folder in system)
    return tuple(path for path in found if not path.startswith(own))


def make_rule(target: str, prerequisites: Sequence[str]) -> str:
    """Return a rule as compilers write it into a depfile, for make and ninja."""

    def escaped(path: str) -> str:
        return re.sub(r"([ #])", r"\\\1", path).replace("$", "$$")

    lines = " \\\n  ".join(map(escaped, prerequisites))
    return f"{escaped(target)}: {lines}\n"
