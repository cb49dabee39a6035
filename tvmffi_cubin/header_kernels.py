"""`in_headers`: whether kernels are in headers of the user's, where the sources have none."""

from __future__ import annotations

import re

from . import include_scan, preprocessor_flags
from .request import Request
from .source_text import code_alone

__all__ = ["in_headers"]

_KERNEL = re.compile(r"\b__global__\b")


def in_headers(request: Request) -> bool:
    """Return whether headers that a request's CUDA sources include have kernels.

    Only where nothing else brings kernels: a header that a wrapper shares with the kernels that it
    launches may have them for NVRTC alone.
    """
    if not request.may_be_compiled or request.images or request.kernel_sources:
        return False
    flags = preprocessor_flags.parse(request.cuda_cflags)
    found = include_scan.scan(
        [source.text for source in request.cuda_sources],
        (*flags.folders, *request.include_paths),
        defines=flags.macros,
    )
    return any(map(_has_kernel, found.files))


def _has_kernel(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    except OSError:
        return False  # the compilers say what is wrong with it
    return "__global__" in text and _KERNEL.search(code_alone(text)) is not None
