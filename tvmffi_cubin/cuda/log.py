"""What helps where NVRTC's log has errors: flags, headers and the wheels that bring them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .arch import number_of
from .headers import std_names
from .libraries import Cuda

LAUNCHES_ON_DEVICE = (
    "kernels that launch kernels are linked with CUDA's device runtime: pass "
    'device_libraries=["cudadevrt"] to load_inline or load'
)
"""What is missing where device code launches."""

NEEDS_HOST = "needs a host compiler"
"""What is said of headers of CCCL that NVRTC cannot compile."""

_MISSING = r"(?:cannot|could not) open source file \"([^\"]+)\""
_UNKNOWN = r'namespace "std" has no member (?:\w+ )?"(\w+)"|identifier "(\w+)" is undefined'
_PARTS = {
    "cccl": ("cub/", "cuda/", "thrust/", "nv/"),
    "crt": ("crt/",),
    "curand": ("curand",),
    "runtime": ("cuda.h", "cuda_", "cooperative_groups", "mma.h"),
}
# Algorithms for the whole device.
_DEVICE_WIDE = (
    r"^[ \t]*#[ \t]*include[ \t]*[<\"]((?:thrust/|cub/(?!block/|warp/|thread/))[^>\"\n]*)"
)
_HOST_CODE = (
    "__host__ function is not allowed|is not supported when compiling with NVRTC"
    r'|namespace "std" has no member|open source file "[a-z_]+"'
)


def explained(log: str, *, source: str, arch: str, cuda: Cuda) -> str:
    """Return a log, and behind it what its errors suggest to do."""
    return _host_code(log, source, cuda) or "\n".join(
        dict.fromkeys((log, *(f"Hint: {hint}" for hint in _hints(log, arch, cuda))))
    )


def wheel_hint(header: str, cuda: Cuda) -> str:
    """Return which of NVIDIA's wheels brings a header that is missing; empty where none does."""
    part = next((part for part, starts in _PARTS.items() if header.startswith(starts)), "")
    if not part or part in cuda.parts:  # the user's own may be called cuda_..., too
        return ""
    wheel = cuda.wheels[part]
    return f"{header} comes with NVIDIA's wheel {wheel}; run: pip install {wheel}"


def _hints(log: str, arch: str, cuda: Cuda) -> Iterator[str]:
    target = re.search(r"(?:not supported on|requires) \.target '?sm_\d", log)
    number = number_of(arch)
    if target is not None and number >= 90 and arch[-1].isdigit():
        yield f'an instruction needs more than {arch} has: compile for arch="sm_{number}a" alone'
    if "device-side kernel launch could not be processed" in log:
        yield LAUNCHES_ON_DEVICE
    if missing := re.search(_MISSING, log):
        header = missing[1]
        if hint := wheel_hint(header, cuda):
            yield hint
        elif re.fullmatch("[a-z_]+", header):
            yield (
                f"<{header}> belongs to the host's C++ library: include <cuda/std/{header}> where "
                "there is one, or move what needs it to cpp_sources"
            )
    names = std_names()
    for member, word in re.findall(_UNKNOWN, log):
        if header := names.header_of(member, word):
            yield f"{member or word} is in <{header}>: add #include <{header}>"


def _host_code(log: str, source: str, cuda: Cuda) -> str:
    """Return what is wrong where headers of CCCL want a host compiler; empty where none does.

    Such a header ends in hundreds of lines about code that the caller never wrote.
    """
    headers = dict.fromkeys(re.findall(_DEVICE_WIDE, source, re.MULTILINE))
    folder = re.escape(f"{cuda.parts.get('cccl')}/")
    if not (headers and re.search(rf"^{folder}.*(?:{_HOST_CODE})", log, re.MULTILINE)):
        return ""
    return (
        f"{', '.join(f'<{header}>' for header in headers)} {NEEDS_HOST}: the device-wide "
        "algorithms of CUB and Thrust are host code, which NVRTC does not compile. Include the "
        "header of a block's or a warp's algorithm, such as <cub/block/block_scan.cuh>.\n"
        f"(NVRTC's {log.count(chr(10))} lines about it are in the error's log.)"
    )
