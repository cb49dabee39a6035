"""The headers that sources read, or would read if they existed; host builds that track them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from .. import importing
from ..cache.publish import outside
from ..config import header_folder_flags
from ..cuda import nvrtc
from ..cuda.options import preprocessor_flags, read
from ..host import include_scan
from ..host.inputs import Inputs, find_for, incbin_files, joined, parse_depfile
from ..host.steps import PRECOMPILED, Step
from .request import Request, Source
from .tools import Build, Toolset


def cuda_flags(request: Request) -> tuple[str, ...]:
    """Return the host compiler's flags for CUDA sources: its own and what nvcc would forward."""
    given = request.cuda_cflags
    standard = [f"-std={value}" for name, value, _ in read(given) if name == "-std"]
    return (*standard, *preprocessor_flags(given).words, *request.cflags)


def device_headers(request: Request, tools: Toolset, sources: Sequence[Source]) -> Inputs:
    """Scan for headers of device sources, and paths that would shadow them; NVRTC lists none."""
    flags = preprocessor_flags(request.cuda_cflags)
    return include_scan.scan(
        ((flags.first_lines + x.text, x.folder) for x in sources),
        (*flags.folders, *request.include_paths),
        system_dirs=(os.fspath(nvrtc.shim_dir()), *tools.cuda_include_dirs),
        texts=nvrtc.HEADERS,
    )


def host_headers(
    request: Request, tools: Toolset, listed: Sequence[str], sources: Sequence[Source]
) -> Inputs:
    """Return the headers that a host compiler `listed`, and the paths it searched before them."""
    flags = (*tools.compiler.options, *cuda_flags(request), *header_folder_flags())
    folders = (*preprocessor_flags(flags).folders, *request.include_paths)
    others = dict.fromkeys(filter(os.path.isabs, folders))
    texts = [(x.text, x.folder) for x in sources]
    libraries = ("/usr/", *tools.roots.values())
    return include_scan.looked_for([*others], listed, texts, libraries=libraries)


def run_host(
    wanted: Build,
    steps: Sequence[Step],
    folder: Path,
    files: Mapping[str, bytes | str],
    sources: Sequence[Source],
    flags: Sequence[str],
) -> Inputs:
    """Build host code with ninja; return the files read for `sources` or named by `flags`."""
    with importing:
        from ..host import precompiled
    request, tools = wanted.request, wanted.tools
    if not request.use_pch:
        steps = [step._replace(prefix="") for step in steps]
    listed = precompiled.run(steps, folder, files, wanted.cache, tools)
    told = [*listed.read]  # not in any depfile
    for path in folder.glob("*.d"):
        told += parse_depfile(path.read_text(errors="surrogateescape"))
    told = [x for x in outside(told, os.fspath(folder)) if os.path.basename(x) != PRECOMPILED]
    headers = host_headers(request, tools, told, sources)
    named = find_for((*tools.compiler.options, *flags))
    return joined((listed, headers, named, incbin_files(source.text for source in sources)))
