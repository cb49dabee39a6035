"""`may_read_files`: whether what builds a request may read files beside its sources."""

from __future__ import annotations

import re

from .request import Request

__all__ = ["may_read_files"]

# What makes a compiler or an assembler read a file, wherever it stands.
_READS = re.compile(r"include|embed|incbin|\bimport\b")
# A word may be continued on the next line.
_CONTINUED = re.compile(r"\\\s*\n")


def may_read_files(request: Request) -> bool:
    """Whether the build may read files of the user's beside the sources themselves."""
    if request.files or request.cflags or request.cuda_cflags or request.ldflags:
        return True
    sources = (*request.cpp_sources, *request.cuda_sources, *request.kernel_sources)
    return any(_READS.search(_CONTINUED.sub("", source.text)) for source in sources)
