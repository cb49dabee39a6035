"""What lets a wrapper call CUDA's driver and runtime by name with neither of them to link.

One unit forwards every driver function that ``cuda.h`` declares, each from a section of its own,
and the link drops the sections that nothing calls (``--gc-sections``). So nothing has to be known
of the wrapper's object before the link, and the unit compiles beside the wrapper: 90 ms beside 1600
(2 cores, gcc 12).
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
# What passes a kernel the very pointers that it is given.
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
    # Its macros rename functions to their current forms (cuMemAlloc_v2), with per-thread default
    # streams to those of another suffix.
    for mode, streamed, plain in re.findall(_RENAMED, text):
        names.update([plain] if plain else [streamed, f"{streamed}_pt{mode.lower()}"])
    lines = "\n".join(f'"tvmffi_cubin_forward {name}\\n"' for name in sorted(names))
    return f"#include <tvmffi_cubin/forwarder.h>\n\n__asm__(\n{lines});\n"


def calls_driver(data: bytes) -> bool:
    """Whether an object calls driver functions by name, so that its link needs `forwarder_unit`."""
    symbols = Elf(data).symbols(having="cu")
    return any(re.fullmatch(r"cu[A-Z]\w*", x.name) for x in symbols if x.is_undefined)


def link_flags(extra: Sequence[str]) -> tuple[str, ...]:
    """Return the linker flags of a wrapper: its user's, less CUDA's libraries, and ours."""
    # A machine without a toolkit has neither file: the forwarders and the wheel's stand for them.
    kept = [flag for flag in extra if flag.strip() not in ("-lcuda", "-lcudart")]
    return ("-Wl,--gc-sections", *kept)


def runtime_to_link(cudart: Path) -> Path:
    """Return the CUDA runtime for host code: the static one beside the shared, as nvcc links it."""
    if given := config.get("TVMFFI_CUBIN_CUDART"):
        return Path(given).absolute()
    static = cudart.with_name("libcudart_static.a")
    return static if static.exists() else _shared(cudart)


@cache
def _shared(cudart: Path) -> Path:
    logging.getLogger("tvmffi_cubin").warning(
        "there is no static runtime beside %s: modules need the shared one at that path; a newer "
        "NVIDIA wheel has both",
        cudart,
    )
    return cudart


def cudart_flags(cudart: Path) -> tuple[str, ...]:
    """Return the linker flags of host code that may call a CUDA runtime."""
    if cudart.suffix == ".a":
        its_own = ("-lrt", "-lpthread", "-ldl")
        return (str(cudart), f"-Wl,--exclude-libs,{cudart.name}", *its_own)
    # Whoever names another has it found at run time, too.
    place = () if config.get("TVMFFI_CUBIN_CUDART") else library_flags([str(cudart)])
    return (*place, "-Wl,--as-needed", str(cudart), "-Wl,--no-as-needed")


def library_flags(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the linker's flags with which shared libraries are found at run time, by folder."""
    folders = dict.fromkeys(path.rpartition("/")[0] for path in paths)
    return tuple(word for x in folders for word in ("-Xlinker", "-rpath", "-Xlinker", x))


def refusing_flags() -> tuple[str, ...]:
    """Return linker flags with which code does not link that passes kernels what it is given.

    A reference to a function in another object becomes one to a name that nothing defines; what our
    headers define in the object itself stays.
    """
    forms = (f"{name}{suffix}" for name in _LAUNCHES for suffix in ("", "_ptsz", "_v2"))
    return tuple(f"-Wl,--wrap={form}" for form in forms)
