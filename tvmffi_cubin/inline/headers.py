"""`HeaderSearch`: which headers a request's sources read, or would if they appeared; `run_host`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .. import importing
from ..cache.publish import outside
from ..config import header_folder_flags
from ..cuda import nvrtc
from ..cuda.options import preprocessor_flags, read
from ..host import include_scan
from ..host.inputs import Inputs, find_for, incbin_files, joined, parse_depfile
from ..host.steps import PRECOMPILED, Step
from ..sources import Source
from .request import Request
from .tools import Build, Toolset


class HeaderSearch(NamedTuple):
    """The folders and flags of a request, with which its sources find their headers.

    NVRTC lists none, so its sources are scanned. Host compilers list what they have read, and not
    what they have looked for.
    """

    request: Request
    tools: Toolset

    @property
    def cuda_flags(self) -> tuple[str, ...]:
        """What the host compiler compiles CUDA sources with, which nvcc's flags are for."""
        given = self.request.cuda_cflags
        standard = [f"-std={value}" for name, value, _ in read(given) if name == "-std"]
        return (*standard, *preprocessor_flags(given).words, *self.request.cflags)

    def device(self, sources: Sequence[Source]) -> Inputs:
        """Return the headers that device sources may include, and those that would come first."""
        flags = preprocessor_flags(self.request.cuda_cflags)
        return include_scan.scan(
            ((flags.first_lines + x.text, x.folder) for x in sources),
            (*flags.folders, *self.request.include_paths),
            system_dirs=(os.fspath(nvrtc.shim_dir()), *self.tools.cuda_include_dirs),
            defines=flags.macros,
            texts=nvrtc.HEADERS,
        )

    def looked_for(self, read: Sequence[str], sources: Sequence[Source]) -> Inputs:
        """Return what host sources have `read`, with what compilers do not list."""
        flags = (*self.tools.compiler.options, *self.cuda_flags, *header_folder_flags())
        folders = (*preprocessor_flags(flags).folders, *self.request.include_paths)
        others = dict.fromkeys(filter(os.path.isabs, folders))
        texts = [(x.text, x.folder) for x in sources]
        libraries = ("/usr/", *self.tools.roots.values())
        return include_scan.looked_for([*others], read, texts, libraries=libraries)


def run_host(
    wanted: Build,
    steps: Sequence[Step],
    folder: Path,
    files: Mapping[str, bytes | str],
    sources: Sequence[Source],
    flags: Sequence[str],
) -> Inputs:
    """Build host code by ninja; return what was read for its sources, with such flags."""
    with importing:
        from ..host import precompiled
    request, tools = wanted.request, wanted.tools
    listed = precompiled.run(
        steps,
        folder,
        files,
        cache=wanted.cache,
        tools=tools,
        folders=request.include_paths,
        use_pch=request.use_pch,
    )
    told = [*listed.read]  # which no depfile lists
    for path in folder.glob("*.d"):
        told += parse_depfile(path.read_text(errors="surrogateescape"))
    told = [x for x in outside(told, os.fspath(folder)) if os.path.basename(x) != PRECOMPILED]
    read = HeaderSearch(request, tools).looked_for(told, sources)
    named = find_for((*tools.compiler.options, *flags))
    return joined((listed, read, named, incbin_files(source.text for source in sources)))
