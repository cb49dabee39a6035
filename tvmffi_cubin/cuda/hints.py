"""What NVRTC's errors suggest to do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .arch import number_of
from .libraries import Cuda

LAUNCHES_ON_DEVICE = (
    "kernels that launch kernels are linked with CUDA's device runtime: pass "
    'device_libraries=["cudadevrt"] to load_inline or load'
)
"""What is missing where device code launches."""

_WHEELS = {
    "cccl": ("cub/", "cuda/", "thrust/", "nv/"),
    "crt": ("crt/",),
    "curand": ("curand",),
    "runtime": ("cuda.h", "cuda_", "cooperative_groups", "mma.h"),
}
# Algorithms for the whole device, and how NVRTC says that a header is for the host.
_DEVICE_WIDE = (
    r"^[ \t]*#[ \t]*include[ \t]*[<\"]((?:thrust/|cub/(?!block/|warp/|thread/))[^>\"\n]*)"
)
_HOST_CODE = (
    "__host__ function is not allowed|is not supported when compiling with NVRTC"
    r'|namespace "std" has no member|open source file "[a-z_]+"'
)


def explained(log: str, *, source: str, arch: str, cuda: Cuda) -> str:
    """Return NVRTC's log, and behind it what its errors suggest to do."""
    hints = dict.fromkeys(_hints(log, source, arch, cuda))
    return "\n".join((log, *(f"Hint: {hint}" for hint in hints)))


def wheel_hint(header: str, cuda: Cuda) -> str:
    """Return which of NVIDIA's wheels brings a header that is missing; empty where none does."""
    part = next((part for part, starts in _WHEELS.items() if header.startswith(starts)), "")
    if not part or part in cuda.parts:  # the user's own may be called cuda_..., too
        return ""
    wheel = cuda.wheels[part]
    return f"{header} comes with NVIDIA's wheel {wheel}; run: pip install {wheel}"


def _hints(log: str, source: str, arch: str, cuda: Cuda) -> Iterator[str]:
    headers = dict.fromkeys(re.findall(_DEVICE_WIDE, source, re.MULTILINE))
    folder = re.escape(f"{cuda.parts.get('cccl')}/")
    if headers and re.search(rf"^{folder}.*(?:{_HOST_CODE})", log, re.MULTILINE):
        yield (
            f"{', '.join(f'<{header}>' for header in headers)} needs a host compiler: the "
            "device-wide algorithms of CUB and Thrust are host code, which NVRTC does not compile; "
            "include the header of a block's or a warp's algorithm, such as "
            "<cub/block/block_scan.cuh>"
        )
    number = number_of(arch)
    target = re.search(r"(?:not supported on|requires) \.target '?sm_\d", log)
    if target is not None and number >= 90 and arch[-1].isdigit():
        yield f'an instruction needs more than {arch} has: compile for arch="sm_{number}a"'
    if "device-side kernel launch could not be processed" in log:
        yield LAUNCHES_ON_DEVICE
    if missing := re.search(r"(?:cannot|could not) open source file \"([^\"]+)\"", log):
        header = missing[1]
        if hint := wheel_hint(header, cuda):
            yield hint
        elif re.fullmatch("[a-z_]+", header):
            yield (
                f"<{header}> belongs to the host's C++ library: include <cuda/std/{header}> where "
                "there is one, or move what needs it to cpp_sources"
            )
