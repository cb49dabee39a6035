"""Hints for the messages of NVIDIA's compilers and linkers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errors import ToolchainError, shortened
from .libraries import find_cuda

NVCC = "compiler=\"nvcc\" (pip install 'tvmffi-cubin[nvcc]')"
"""How to compile a source with nvcc, and how to install nvcc."""

_HINTS = {
    r'identifier "(?:__)?(?:half|nv_bfloat16)2?" is undefined': (
        "half and half2 need #include <cuda_fp16.h>; __nv_bfloat16 needs <cuda_bf16.h>"
    ),
    r"not supported on \.target '(sm_(?:9|1\d)\d)'": (
        r'an instruction is not available on \1: compile with arch="\1a"'
    ),
    # NVRTC's error for <<<...>>> in device code, and the symbols that it generates otherwise.
    "device-side kernel launch could not be processed|__cudaCDP2": (
        "kernels that launch kernels require CUDA's device runtime: pass "
        'device_libraries=["cudadevrt"] to load_inline or load'
    ),
    r"/(?:cub|thrust)/.*(?:a __host__ function is not allowed|cannot open source file)": (
        f"the device-wide algorithms of CUB and Thrust are host code: pass {NVCC}; in a kernel, "
        "use block- or warp-level ones, such as <cub/block/block_scan.cuh>"
    ),
    r'open source file "([a-z_]+)"\n.*<\1>': (
        r"<\1> is a header of the host's C++ library: include <cuda/std/\1> if it exists, or "
        "move the code that needs it to cpp_sources"
    ),
}
# A missing header, as NVRTC and the preprocessors of gcc and clang report it.
_MISSING = r"(?:source file \"|error: '?)([^\s\"':]+)(?:\"|: No such file|' file not found)"
_WHEELS = {
    "cccl": ("cub/", "cuda/", "thrust/", "nv/"),
    "crt": ("crt/",),
    "curand": ("curand",),
    "runtime": ("cuda.h", "cuda_", "cooperative_groups", "mma.h"),
}


def hints(log: str) -> Iterator[str]:
    """Yield hints for the errors in a log of any tool."""
    for pattern, hint in _HINTS.items():
        if found := re.search(pattern, log):
            yield found.expand(hint)
    for header in re.findall(_MISSING, log):
        for part in (x for x, starts in _WHEELS.items() if header.startswith(starts)):
            try:
                find_cuda().require(part)  # a user's own header may be named cuda_..., too
            except ToolchainError as error:
                yield f"{header} is missing. {error}"


def explained(log: str) -> str:
    """Return a log, shortened, followed by its hints."""
    return "\n".join((shortened(log), *(f"Hint: {hint}" for hint in hints(log))))
