"""Let a wrapper call CUDA's driver and runtime by name without a toolkit to link against.

One unit forwards every driver function that ``cuda.h`` declares, each from its own section, and the
link drops the sections that nothing calls (``--gc-sections``). So nothing about the wrapper's
object has to be known before the link, and the unit compiles in parallel with the wrapper: 90 ms
next to 1600 (2 cores, gcc 12).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .. import config
from ..kernels.elf import Elf

_DECLARED = r"(?m)^\s*CUresult\s+CUDAAPI\s+(cu[A-Z]\w*)\s*\("
_RENAMED = (
    r"(?m)^[ \t]*#[ \t]*define[ \t]+cu[A-Z]\w*[ \t]+"
    r"(?:__CUDA_API_PT(DS|SZ)\((cu[A-Z]\w*)\)|(cu[A-Z]\w*))[ \t\r]*$"
)
# Functions that pass a kernel exactly the pointers that they are given.
_LAUNCHES = (
    *("cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel", "cuGraphAddKernelNode"),
    *("cuGraphKernelNodeSetParams", "cuGraphExecKernelNodeSetParams", "cuGraphAddNode"),
    *("cuGraphNodeSetParams", "cuGraphExecNodeSetParams", "cudaLaunchKernel", "__cudaLaunchKernel"),
    *("cudaLaunchKernelExC", "cudaLaunchCooperativeKernel", "cudaGraphAddKernelNode"),
    *("cudaGraphKernelNodeSetParams", "cudaGraphExecKernelNodeSetParams", "cudaGraphAddNode"),
    *("cudaGraphNodeSetParams", "cudaGraphExecNodeSetParams"),
)


def forwarder_unit(cuda_h: Path) -> str:
    """Return the text of the C++ unit that forwards every driver function of a ``cuda.h``."""
    text = cuda_h.read_text(errors="replace")
    names = set(re.findall(_DECLARED, text))
    # Its macros rename functions to their current forms (cuMemAlloc_v2) and, for per-thread default
    # streams, to forms with another suffix.
    for mode, streamed, plain in re.findall(_RENAMED, text):
        names.update([plain] if plain else [streamed, f"{streamed}_pt{mode.lower()}"])
    lines = "\n".join(f'"tvmffi_cubin_forward {name}\\n"' for name in sorted(names))
    return f"#include <tvmffi_cubin/forwarder.h>\n\n__asm__(\n{lines});\n"


def calls_driver(data: bytes) -> bool:
    """Whether an object calls driver functions by name, so that its link needs `forwarder_unit`."""
    symbols = Elf(data).symbols(having="cu")
    return any(re.fullmatch(r"cu[A-Z]\w*", x.name) for x in symbols if x.is_undefined)


def link_flags(extra: Sequence[str]) -> tuple[str, ...]:
    """Return a wrapper's linker flags: the user's, without CUDA's libraries, and ours."""
    # Without a toolkit, neither file exists: the forwarders and the wheel's file replace them.
    kept = [flag for flag in extra if flag.strip() not in ("-lcuda", "-lcudart")]
    return ("-Wl,--gc-sections", *kept)


def runtime_to_link(cudart: Path) -> Path:
    """Return the CUDA runtime for host code: the static one beside the shared one, as with nvcc."""
    if given := config.get("TVMFFI_CUBIN_CUDART"):
        return Path(given).absolute()
    static = cudart.with_name("libcudart_static.a")
    return static if static.exists() else _shared(cudart)


@cache
def _shared(cudart: Path) -> Path:
    logging.getLogger("tvmffi_cubin").warning(
        "no static CUDA runtime beside %s: modules depend on the shared one at that path; a newer "
        "NVIDIA wheel has both",
        cudart,
    )
    return cudart


def cudart_flags(cudart: Path) -> tuple[str, ...]:
    """Return the linker flags for host code that may call the CUDA runtime."""
    if cudart.suffix == ".a":
        its_own = ("-lrt", "-lpthread", "-ldl")
        return (str(cudart), f"-Wl,--exclude-libs,{cudart.name}", *its_own)
    # Users who name another runtime also make sure that it is found at run time.
    place = () if config.get("TVMFFI_CUBIN_CUDART") else library_flags([str(cudart)])
    return (*place, "-Wl,--as-needed", str(cudart), "-Wl,--no-as-needed")


def library_flags(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the linker flags to find shared libraries at run time, one rpath per folder."""
    folders = dict.fromkeys(path.rpartition("/")[0] for path in paths)
    return tuple(word for x in folders for word in ("-Xlinker", "-rpath", "-Xlinker", x))


def refusing_flags() -> tuple[str, ...]:
    """Return linker flags with which code that calls a launch function directly fails to link.

    A reference to such a function in another object becomes a reference to an undefined name; what
    our headers define in the object itself is unaffected.
    """
    forms = (f"{name}{suffix}" for name in _LAUNCHES for suffix in ("", "_ptsz", "_v2"))
    return tuple(f"-Wl,--wrap={form}" for form in forms)
