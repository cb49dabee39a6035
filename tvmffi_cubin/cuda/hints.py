"""What the messages of NVIDIA's compilers and linkers suggest to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .arch import number_of
from .libraries import Cuda

_HINTS = {
    # What NVRTC says of <<<...>>> in device code, and what it makes of it otherwise.
    "device-side kernel launch could not be processed|__cudaCDP2": (
        "kernels that launch kernels are linked with CUDA's device runtime: pass "
        'device_libraries=["cudadevrt"] to load_inline or load'
    ),
    "NVVM_ERROR_NO_MODULE_IN_PROGRAM": (
        'no input has LTO-IR: compile them with target_type="ltoir", or leave out lto'
    ),
    "is refused by nvJitLink": (
        "a newer compiler may have made it: upgrade NVIDIA's wheel of nvJitLink, or install the "
        'extra cu13 in place of cu12; ptx="keep" leaves an embedded image\'s PTX to the driver'
    ),
    r"unsupported (?:GNU|clang) version|unsupported.*host compiler": (
        "nvcc does not support this host compiler: set CXX to an older one, or try this one, "
        "extra_cuda_cflags=['-allow-unsupported-compiler']"
    ),
    r"cicc: (?:not found|No such file)|nvvm/bin.*No such file"
    r"|fatal error: (?:cub|cuda|thrust|nv|crt)/\S+: No such file": (
        "parts of nvcc are wheels of their own; run: pip install 'tvmffi-cubin[nvcc]'"
    ),
}
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


def hints(log: str) -> list[str]:
    """Return what to do about what a log says, whoever wrote it."""
    return [hint for pattern, hint in _HINTS.items() if re.search(pattern, log)]


def explained(log: str, more: Iterable[str] = ()) -> str:
    """Return a log, and behind it its hints, and more of them."""
    return "\n".join((log, *(f"Hint: {hint}" for hint in dict.fromkeys((*hints(log), *more)))))


def wheel_hint(header: str, cuda: Cuda) -> str:
    """Return which of NVIDIA's wheels brings a header that is missing; empty where none does."""
    part = next((part for part, starts in _WHEELS.items() if header.startswith(starts)), "")
    if not part or part in cuda.parts:  # the user's own may be called cuda_..., too
        return ""
    wheel = cuda.wheels[part]
    return f"{header} comes with NVIDIA's wheel {wheel}; run: pip install {wheel}"


def nvrtc_hints(log: str, *, source: str, arch: str, cuda: Cuda) -> Iterator[str]:
    """Yield what to do about what NVRTC says of a source."""
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
    if missing := re.search(r"(?:cannot|could not) open source file \"([^\"]+)\"", log):
        header = missing[1]
        if hint := wheel_hint(header, cuda):
            yield hint
        elif re.fullmatch("[a-z_]+", header):
            yield (
                f"<{header}> belongs to the host's C++ library: include <cuda/std/{header}> where "
                "there is one, or move what needs it to cpp_sources"
            )
