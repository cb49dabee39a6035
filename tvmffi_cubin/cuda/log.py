"""What may help where NVRTC's log has errors: flags, headers and the wheels that bring them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from ..kernels.demangle import demangle
from .arch import is_ptx, number_of
from .libraries import Cuda

LAUNCHES_ON_DEVICE = (
    "kernels that launch kernels are linked with CUDA's device runtime: pass "
    'device_libraries=["cudadevrt"] to load_inline or load'
)
"""What is missing where device code launches."""

NEEDS_HOST = "needs a host compiler"
"""What is said of headers of CCCL that NVRTC cannot compile."""

_MISSING = re.compile(r"(?:cannot|could not) open source file \"([^\"]+)\"")
_PART_OF = {
    "cccl": ("cub/", "cuda/", "thrust/", "nv/"),
    "crt": ("crt/",),
    "curand": ("curand",),
    "runtime": ("cuda.h", "cuda_", "cooperative_groups", "mma.h"),
}
_HOST_ONLY = re.compile(r"[a-z_]+\Z")


def hints(log: str, *, arch: str, cuda: Cuda) -> Iterator[str]:
    """Yield what a log's errors suggest to do."""
    target = re.search(r"(?:not supported on|requires) \.target '?sm_\d", log)
    if target is not None and number_of(arch) >= 90 and arch[-1].isdigit():
        yield (
            f"an instruction needs more than PTX for {arch} may use; leave that out of arch="
            if is_ptx(arch)
            else f'an instruction needs more than {arch}; try arch="{arch}a"'
        )
    # <cuda/barrier> declares it, too, and leaves it incomplete.
    if re.search(r'"CUtensorMap" is undefined|incomplete type "CUtensorMap_st"', log):
        yield "CUtensorMap is in <cuda.h>: add #include <cuda.h>"
    if "device-side kernel launch could not be processed" in log:
        yield LAUNCHES_ON_DEVICE
    for symbol in dict.fromkeys(re.findall(r"Unresolved extern \w+ '([^']+)'", log)):
        yield (
            f"{demangle(symbol)} is declared and not defined: define it in this source, or link "
            "what defines it (another of cuda_sources, device_libraries=, nvjitlink.link)"
        )
    if missing := _MISSING.search(log):
        yield _missing_header(missing[1], cuda)


def _missing_header(header: str, cuda: Cuda) -> str:
    """Return what brings a header that is missing."""
    if hint := wheel_hint(header, cuda):
        return hint
    if not _HOST_ONLY.match(header):
        return f"{header} was found in no include folder; name its folder in the include paths"
    cccl = cuda.find("cccl")
    theirs = cccl is not None and (cccl / "cuda" / "std" / header).is_file()
    return (
        f"<{header}> belongs to the host's C++ library, which device code does not have here: "
        f"{f'include <cuda/std/{header}>, or ' * theirs}move what needs it to cpp_sources"
    )


def wheel_hint(header: str, cuda: Cuda) -> str:
    """Return which of NVIDIA's wheels brings a header that is missing; empty where none does."""
    part = next((part for part, starts in _PART_OF.items() if header.startswith(starts)), "")
    # The user's own may be called cuda_..., too.
    if not part or (part == "runtime" and part in cuda.parts):
        return ""
    wheel = cuda.wheels[part]
    if part in cuda.parts:
        return f"the installed release of {wheel} has no {header}"
    return f"{header} comes with NVIDIA's wheel {wheel}; run: pip install {wheel}"


def host_header_problem(log: str, source: str, cuda: Cuda) -> str:
    """Return what is wrong where headers of CCCL need a host compiler; empty where none does.

    Such a header ends in hundreds of lines about code that the caller never wrote.
    """
    about_host = (
        "A function explicitly marked as a __host__ function is not allowed",
        "is not supported when compiling with NVRTC",
        'namespace "std" has no member',
    )
    start = f"{cuda.parts.get('cccl')}{os.sep}"
    for line in log.split("\n"):
        missing = _MISSING.search(line)
        is_host = _HOST_ONLY.match(missing[1]) if missing else any(x in line for x in about_host)
        if line.startswith(start) and is_host:
            break
    else:
        return ""
    # Those with algorithms for the whole device, and those that may include them.
    headers = re.findall(
        r"^[ \t]*#[ \t]*include[ \t]*[<\"]((?:thrust/|cub/(?!block/|warp/|thread/))[^>\"\n]*)",
        source,
        re.MULTILINE,
    )
    return (
        f"{', '.join(f'<{x}>' for x in dict.fromkeys(headers)) or 'a header of CCCL'} {NEEDS_HOST}:"
        " the device-wide algorithms of CUB and Thrust are host code, which NVRTC does not compile."
        " Include the header of a block's or a warp's algorithm, such as"
        " <cub/block/block_scan.cuh>, or one of CCCL's C++ library, such as <cuda/std/complex>"
    )
