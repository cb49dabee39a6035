"""What the messages of NVIDIA's compilers and linkers suggest to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..errors import shortened
from .arch import number_of
from .libraries import Cuda

NVCC = "compiler=\"nvcc\" (pip install 'tvmffi-cubin[nvcc]')"
"""What has nvcc compile a source, and where nvcc comes from."""

_HINTS = {
    r'identifier "(?:__)?(?:half|nv_bfloat16)2?" is undefined': (
        "half and half2 come with #include <cuda_fp16.h>, __nv_bfloat16 with <cuda_bf16.h>"
    ),
    # What NVRTC says of <<<...>>> in device code, and what it makes of it otherwise.
    "device-side kernel launch could not be processed|__cudaCDP2": (
        "kernels that launch kernels are linked with CUDA's device runtime: pass "
        'device_libraries=["cudadevrt"] to load_inline or load'
    ),
    # Of what NVRTC says of headers for the host.
    r"/(?:cub|thrust)/.*(?:a __host__ function is not allowed|cannot open source file)": (
        f"the device-wide algorithms of CUB and Thrust are host code: pass {NVCC}; a kernel "
        "includes those of a block or a warp, such as <cub/block/block_scan.cuh>"
    ),
    r"unsupported (?:GNU|clang) version|unsupported.*host compiler": (
        "nvcc does not support this host compiler: set CXX to an older one, or try this one, "
        "extra_cuda_cflags=['-allow-unsupported-compiler']"
    ),
}
_WHEELS = {
    "cccl": ("cub/", "cuda/", "thrust/", "nv/"),
    "crt": ("crt/",),
    "curand": ("curand",),
    "runtime": ("cuda.h", "cuda_", "cooperative_groups", "mma.h"),
}


def hints(log: str) -> list[str]:
    """Return what to do about what a log says, whoever wrote it."""
    return [hint for pattern, hint in _HINTS.items() if re.search(pattern, log)]


def explained(log: str, more: Iterable[str] = ()) -> str:
    """Return a log, and behind it its hints, and more of them."""
    return "\n".join((shortened(log), *(f"Hint: {hint}" for hint in (*hints(log), *more))))


def wheel_hint(header: str, cuda: Cuda) -> str:
    """Return which of NVIDIA's wheels brings a header that is missing; empty where none does."""
    part = next((part for part, starts in _WHEELS.items() if header.startswith(starts)), "")
    if not part or part in cuda.parts:  # the user's own may be called cuda_..., too
        return ""
    wheel = cuda.wheels[part]
    return f"{header} comes with NVIDIA's wheel {wheel}; run: pip install {wheel}"


def nvrtc_hints(log: str, *, arch: str, cuda: Cuda) -> Iterator[str]:
    """Yield what to do about what NVRTC says of a source."""
    number = number_of(arch)
    target = re.search(r"(?:not supported on|requires) \.target '?sm_\d", log)
    if target is not None and number >= 90 and arch[-1].isdigit():
        yield f'an instruction needs more than {arch} has: compile for arch="sm_{number}a"'
    if missing := re.search(r"(?:cannot|could not) open source file \"([^\"]+)\"", log):
        header = missing[1]
        if hint := wheel_hint(header, cuda):
            yield hint
        elif f"<{header}>" in log and re.fullmatch("[a-z_]+", header):
            yield (
                f"<{header}> belongs to the host's C++ library: include <cuda/std/{header}> where "
                "there is one, or move what needs it to cpp_sources"
            )
