"""What may help where NVRTC lacks a header, or was given one that needs a host compiler."""

from __future__ import annotations

import os
import re

from .cuda_wheels import Cuda

__all__ = ["NEEDS_HOST", "host_header_problem", "missing_header_hint", "wheel_hint"]

NEEDS_HOST = "needs a host compiler"
"""What is said of headers of CCCL that NVRTC cannot compile."""

_MISSING = re.compile(r"(?:cannot|could not) open source file \"([^\"]+)\"")
_PART_OF = (
    ("cub/", "cccl"),
    ("cuda/", "cccl"),
    ("thrust/", "cccl"),
    ("nv/", "cccl"),
    ("crt/", "crt"),
    ("curand", "curand"),
)
_HOST_ONLY = re.compile(r"[a-z_]+\Z")
# How NVRTC, and newer releases of CCCL themselves, complain of host code.
_ABOUT_HOST = (
    "A function explicitly marked as a __host__ function is not allowed",
    "is not supported when compiling with NVRTC",
    'namespace "std" has no member',
)
# Headers of CCCL with algorithms for the whole device, and those that may include them.
_FOR_HOST = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*[<\"]((?:thrust/|cub/(?!block/|warp/|thread/))[^>\"\n]*)",
    re.MULTILINE,
)


def missing_header_hint(log: str, cuda: Cuda) -> tuple[str, ...]:
    """Return what brings the header that a log lacks, if it lacks one.

    Parameters
    ----------
    log : str
        NVRTC's log.
    cuda : Cuda
        The wheels that there are.
    """
    match = _MISSING.search(log)
    if match is None:
        return ()
    header = match[1]
    if hint := wheel_hint(header, cuda):
        return (hint,)
    if not _HOST_ONLY.match(header):
        return (f"{header} was found in no include folder; name its folder in the include paths",)
    remedy = "move what needs it to cpp_sources"
    if cuda.cccl is None:
        remedy = f"<cuda/std/{header}> may be in the wheel {cuda.wheels['cccl']}; or {remedy}"
    elif (cuda.cccl / "cuda" / "std" / header).is_file():
        remedy = f"include <cuda/std/{header}>, or {remedy}"
    return (
        f"<{header}> belongs to the host's C++ library, which device code does not have here: "
        f"{remedy}",
    )


def wheel_hint(header: str, cuda: Cuda) -> str:
    """Return which of NVIDIA's wheels brings a header that is missing; empty where none does."""
    part = next((part for start, part in _PART_OF if header.startswith(start)), "")
    wheel = cuda.wheels.get(part)
    if wheel is None:
        return ""
    if part in dict(cuda.sites):
        return f"the installed release of NVIDIA's wheel {wheel} has no {header}"
    return f"{header} comes with NVIDIA's wheel {wheel}; run: pip install {wheel}"


def host_header_problem(log: str, source: str, cuda: Cuda) -> str:
    """Return what is wrong where headers of CCCL need a host compiler; empty where none does.

    Such a header ends in hundreds of lines about code that the caller never wrote.

    Parameters
    ----------
    log : str
        NVRTC's log.
    source : str
        The caller's source.
    cuda : Cuda
        The wheels that there are.
    """
    if cuda.cccl is None:
        return ""
    theirs = [line for line in log.split("\n") if line.startswith(f"{cuda.cccl}{os.sep}")]
    if not any(_is_about_host(line) for line in theirs):
        return ""
    found = ", ".join(f"<{header}>" for header in dict.fromkeys(_FOR_HOST.findall(source)))
    return (
        f"{found or 'a header of CCCL'} {NEEDS_HOST}: the device-wide algorithms of CUB "
        "and Thrust are host code, which NVRTC does not compile. Include the header of a block's "
        "or a warp's algorithm, such as <cub/block/block_scan.cuh>, or one of CCCL's C++ library, "
        "such as <cuda/std/complex>"
    )


def _is_about_host(line: str) -> bool:
    missing = _MISSING.search(line)
    if missing is not None:
        return bool(_HOST_ONLY.match(missing[1]))
    return any(text in line for text in _ABOUT_HOST)
