"""NVRTC's log made readable: the caller's own lines, what may help, which wheel has a header."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from ..kernels.demangle import demangle
from .arch import is_ptx, number_of
from .libraries import Cuda

LAUNCHES_ON_DEVICE = (
    "kernels that launch kernels are linked with CUDA's device runtime: pass "
    'device_libraries=["cudadevrt"] to load_inline or load'
)
"""What is missing where device code launches."""

_NO_DEVICE_RUNTIME = "device-side kernel launch could not be processed"

_WRONG_TARGET = re.compile(r"(?:not supported on|requires) \.target '?(sm_\d+[af]?)")
# <cuda/barrier> declares it, too, and leaves it incomplete.
_NO_TENSOR_MAP = re.compile(
    r'identifier "CUtensorMap" is undefined|incomplete type "CUtensorMap_st"'
)
_UNRESOLVED = re.compile(r"(Unresolved extern (?:function|variable)) '([^']+)'")


def annotate(log: str, *, name: str, source: str) -> str:
    """Return a log in which each diagnostic about the caller's file shows its lines, numbered."""
    # A #line directive moves the numbers away from the text at hand.
    moved = re.search(r"^\s*#\s*(line\b|\d)", source, re.MULTILINE)
    lines = [] if moved else source.split("\n")
    located = re.compile(rf"{re.escape(name)}\((\d+)\): ")
    # The assembler knows symbols alone.
    told = _UNRESOLVED.sub(lambda match: f"{match[1]} '{demangle(match[2])}'", log).split("\n")
    found: list[str] = []
    index = 0
    while index < len(told):
        found.append(told[index])
        match = located.match(told[index])
        index += 1
        number = int(match[1]) if match is not None else 0
        if not 0 < number <= len(lines):
            continue
        caret = None
        echo = told[index : index + 2]
        if [*map(str.split, echo)] == [lines[number - 1].split(), ["^"]]:
            # The echo is the line with two blanks before it; the caret under it is, too.
            caret = echo[1].index("^") - (len(echo[0]) - len(echo[0].lstrip()))
            index += 2
        found += _context(lines, number, caret)
    return "\n".join(found)


def _context(source: list[str], number: int, caret: int | None) -> Iterator[str]:
    width = len(str(number))
    if number > 1 and source[number - 2].strip():
        yield f"  {number - 1:>{width}} | {source[number - 2].rstrip()}"
    line = source[number - 1].rstrip()
    yield f"> {number:>{width}} | {line}"
    if caret is not None:
        before = re.sub(r"[^\t]", " ", line[: len(line) - len(line.lstrip()) + caret])
        yield f"  {'':>{width}} | {before}^"


def hints(log: str, *, arch: str) -> tuple[str, ...]:
    """Return what a log's errors suggest to do."""
    found = []
    target = _WRONG_TARGET.search(log)
    if target is not None and number_of(arch) >= 90 and arch[-1].isdigit():
        found.append(
            f"an instruction needs more than PTX for {arch} may use; leave that out of arch="
            if is_ptx(arch)
            else f'an instruction needs more than {arch}; try arch="{arch}a"'
        )
    if _NO_TENSOR_MAP.search(log):
        found.append("CUtensorMap is in <cuda.h>: add #include <cuda.h>")
    if _NO_DEVICE_RUNTIME in log:
        found.append(LAUNCHES_ON_DEVICE)
    for name in dict.fromkeys(match[2] for match in _UNRESOLVED.finditer(log)):
        found.append(
            f"{demangle(name)} is declared and not defined: define it in this source, or link what "
            "defines it (another of cuda_sources, device_libraries=, nvjitlink.link)"
        )
    return tuple(found)


def warns(log: str, *, headers: Iterable[str]) -> bool:
    """Return whether a log warns of anything outside the folders of NVIDIA's own headers."""
    known = tuple(headers)
    return any(
        "warning" in line.lower() and not line.startswith(known)
        for line in log.split("\n")
        if not line.startswith("Remark:")
    )


# Headers

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
    *((start, "runtime") for start in ("cuda.h", "cuda_", "cooperative_groups", "mma.h")),
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
    """Return what brings the header that a log lacks, if it lacks one."""
    match = _MISSING.search(log)
    if match is None:
        return ()
    header = match[1]
    if hint := wheel_hint(header, cuda):
        return (hint,)
    if not _HOST_ONLY.match(header):
        return (f"{header} was found in no include folder; name its folder in the include paths",)
    remedy = "move what needs it to cpp_sources"
    cccl = cuda.find("cccl")
    if cccl is None:
        remedy = f"<cuda/std/{header}> may be in the wheel {cuda.wheels['cccl']}; or {remedy}"
    elif (cccl / "cuda" / "std" / header).is_file():
        remedy = f"include <cuda/std/{header}>, or {remedy}"
    return (
        f"<{header}> belongs to the host's C++ library, which device code does not have here: "
        f"{remedy}",
    )


def wheel_hint(header: str, cuda: Cuda) -> str:
    """Return which of NVIDIA's wheels brings a header that is missing; empty where none does."""
    part = next((part for start, part in _PART_OF if header.startswith(start)), "")
    wheel = cuda.wheels.get(part)
    # The user's own may be called cuda_..., too.
    if wheel is None or (part == "runtime" and part in cuda.parts):
        return ""
    if part in cuda.parts:
        return f"the installed release of {wheel} has no {header}"
    return f"{header} comes with NVIDIA's wheel {wheel}; run: pip install {wheel}"


def host_header_problem(log: str, source: str, cuda: Cuda) -> str:
    """Return what is wrong where headers of CCCL need a host compiler; empty where none does.

    Such a header ends in hundreds of lines about code that the caller never wrote.
    """
    cccl = cuda.find("cccl")
    if cccl is None:
        return ""
    theirs = [line for line in log.split("\n") if line.startswith(f"{cccl}{os.sep}")]
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
