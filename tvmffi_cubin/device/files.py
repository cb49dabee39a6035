"""`compile_files`: CUDA source files to one image, with the headers that they may include."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..cuda import libraries, nvrtc
from ..cuda.arch import Archs
from ..cuda.preprocessor import parse
from ..include_scan import scan
from ..inline.files import source_text
from ..kernels.cubin import KINDS, Cubin

__all__ = ["TARGET_TYPES", "compile_files", "headers", "make_rule"]

TARGET_TYPES = (*KINDS, "fatbin")
"""What can be made: `KINDS`, and a fatbin, of one architecture too."""


def compile_files(
    files: Sequence[Path],
    *,
    arch: Archs = None,
    options: Sequence[str] = (),
    name_expressions: Sequence[str] = (),
    include_paths: Sequence[str] = (),
    target_type: str = "cubin",
) -> Cubin:
    """Compile CUDA source files; several are separate units, linked to one image.

    Parameters
    ----------
    files : sequence of Path
        At least one.
    arch, options, name_expressions, include_paths
        As of `nvrtc.compile`.
    target_type : str
        One of `TARGET_TYPES`; of several files a cubin or a fatbin. Several architectures make a
        fatbin in any case.

    Raises
    ------
    CompileError, ToolchainError, OSError, TypeError, ValueError
        As `nvrtc.compile`; or a file is empty, or is no device code.
    """
    if target_type not in TARGET_TYPES:
        wanted = ", ".join(map(repr, TARGET_TYPES))
        raise ValueError(f"target_type is one of {wanted}, got {target_type!r}")
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
    from ..inline.files import read_files
    from ..inline.request import make_request
    from ..sources.sort import sort_sources
    from .compile import compile_device

    request = make_request(
        "compiled",
        files=read_files(sources=[str(file) for file in files]),
        name_expressions=name_expressions,
        extra_cuda_cflags=options,
        extra_include_paths=include_paths,
    )
    sorted_ = sort_sources(request)
    if sorted_.mixed:
        ((mixed, *_), *_) = sorted_.mixed
        raise ValueError(
            f"{mixed.path} has host functions beside its kernels: load and build take "
            "it, and what is compiled to an image alone has to be device code"
        )
    sources = sorted_.device
    if len(sources) != len(files):
        device = {source.path for source in sources}
        other = next(file for file in files if os.path.abspath(file) not in device)
        raise ValueError(f"{other} is no device code: it defines no kernel and no device function")
    return compile_device(request, sources, nvrtc.resolve_archs(arch, options)).cubin


def headers(
    files: Sequence[Path], *, options: Sequence[str] = (), include_paths: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the user's headers that files may include, directly or not: too many, if any.

    Those of CUDA and of this package are left out.
    """
    system = (str(nvrtc.shim_dir()), *map(str, libraries.find_cuda().include_dirs))
    flags = parse(options)
    first = "".join(f'#include "{header}"\n' for header in flags.first_headers)
    found: dict[str, None] = {}
    for file in files:
        folders = (*flags.folders, *map(os.path.abspath, include_paths))
        text = file.read_bytes().decode("utf-8", "surrogateescape")
        read = scan(
            (first, text),
            folders,
            system_dirs=system,
            directory=os.path.dirname(os.path.abspath(file)),
            defines=flags.macros,
        )
        found.update(dict.fromkeys(read.files))
    own = tuple(f"{folder}/" for folder in system)
    return tuple(path for path in map(os.path.normpath, found) if not path.startswith(own))


def make_rule(target: str, prerequisites: Sequence[str]) -> str:
    """Return a rule as compilers write it into a depfile, for make and ninja."""
    lines = " \\\n  ".join(map(_escaped, prerequisites))
    return f"{_escaped(target)}: {lines}\n"


def _escaped(path: str) -> str:
    for character in " #":
        path = path.replace(character, f"\\{character}")
    return path.replace("$", "$$")
