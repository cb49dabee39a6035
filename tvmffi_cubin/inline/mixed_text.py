"""`expand`: the mixed sources of one unit as the preprocessor of either side leaves them."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence

from ..cuda.nvrtc import line_directive
from ..errors import BuildError
from ..host import process
from ..host import units as host_unit
from ..host.build import shortened
from ..host.environment import build_environment
from ..sources.expansion import Expansion, expansion
from ..sources.source import Source
from ..sources.torch import TORCH_HEADER, TORCH_REMEDY
from .headers import HeaderSearch
from .request import Request
from .tools import Toolset

__all__ = ["PREFIX", "expand", "mixed_prefix"]

PREFIX = "#include <tvmffi_cubin/mixed/host.h>"
"""What every unit's host text is compiled behind, after tvm-ffi's headers."""

# Libraries of device code that the host's compiler has no use for.
_DEVICE_ONLY = re.compile(
    r"(?:cub/|cooperative_groups|mma\.h|crt/|cuda_pipeline|cuda_awbarrier|sm_\d+_|device_atomic"
    r"|cuda/pipeline|cuda/barrier|cuda/ptx|curand_kernel)"
)
# And those of CUDA's that NVRTC has no use for.
_HOST_ONLY = re.compile(
    r"(?:cublas|cusparse|cufft|cusolver|curand\.h|nvtx|nvToolsExt|npp|nccl|cuda_profiler|cudaProfiler"
    r"|cuda_runtime|cuda\.h|thrust/(?:device|host)_vector|nvrtc|nvJitLink|cudaTypedefs|cudnn|nvml)"
)
_ERROR = re.compile(r"^(?P<file>[^\s:][^\n:]*):\d+:(?:\d+:)? (?P<fatal>fatal )?error: ", re.M)
_MISSING = re.compile(r"error: '?(?P<header>[^\s':]+)(?:: No such file|' file not found)")
_ARCH = re.compile(r"(?:sm|compute)_(\d+)([af]?)\Z")


def mixed_prefix(exports: Sequence[tuple[str, str]]) -> str:
    """Return what all units of mixed sources begin with."""
    return f"{host_unit.prefix(exports, is_cuda=False)}\n{PREFIX}"


def expand(
    request: Request, tools: Toolset, sources: Sequence[Source], names: Sequence[str], arch: str
) -> Expansion:
    """Run the host compiler's preprocessor over sources.

    Parameters
    ----------
    request, tools
        What is built, and with what.
    sources : sequence of Source
        The sources of a unit, in order.
    names : sequence of str
        What messages call them.
    arch : str
        The architecture that device code is for; empty for the host's side.

    Raises
    ------
    BuildError
        The preprocessor refuses them.
    ValueError
        They include a header of torch's.
    """
    search = HeaderSearch(request, tools)
    flags = host_unit.host_flags(tools, search.cuda_flags)
    folders = [x for source in sources for x in (source.folder, *source.further_folders) if x]
    command = [
        *tools.compiler.command,
        *("-E", "-dI", "-x", "c++"),
        *(word for folder in dict.fromkeys(folders) for word in ("-iquote", folder)),
        *flags,
        *(word for folder in request.include_paths for word in ("-I", folder)),
        *_macros(arch),
    ]
    text = '#line 1 "<headers>"\n' + mixed_prefix(()) + "\n"
    for source, name in zip(sources, names, strict=True):
        text += line_directive(name) + source.text.removeprefix("\ufeff") + "\n"
    with tempfile.TemporaryDirectory() as folder:
        unit, made = os.path.join(folder, "unit.cu"), os.path.join(folder, "unit.ii")
        with open(unit, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        command += [unit, "-o", made]
        status, errors = process.run(command, environment=build_environment(), is_long=True)
        output = _read(made)
    libraries = (*tools.cuda_include_dirs, str(tools.tvm_ffi.include), str(tools.include))
    if status != 0:
        _check(request, command, errors, libraries)
    cuda = tuple(f"{x}/" for x in tools.cuda_include_dirs)

    def is_kept(name: str, path: str) -> bool:
        if not arch:
            return _DEVICE_ONLY.match(name) is None
        # Ours may stand before CUDA's, or it was read before.
        is_cuda = path.startswith(cuda) or any(os.path.isfile(f"{x}{name}") for x in cuda)
        is_cuda = is_cuda or re.search(r"/(?:cutlass|cute)/", path) is not None
        return is_cuda and _HOST_ONLY.match(name) is None

    # The unit's own folder is none of the user's.
    found = expansion(output, is_kept, (*libraries, folder))
    return found._replace(read=tuple(path for path in found.read if path != unit))


def _read(file: str) -> str:
    if not os.path.exists(file):
        return ""
    with open(file, encoding="utf-8", errors="surrogateescape") as opened:
        return opened.read()


def _macros(arch: str) -> list[str]:
    macros = [
        *("__CUDACC__", "__NVCC__", "__CUDACC_VER_BUILD__=0"),
        "__CUDACC_VER_MAJOR__=(CUDART_VERSION/1000)",
        "__CUDACC_VER_MINOR__=(CUDART_VERSION%1000/10)",
        # Its qualifiers stay words, which both sides read.
        "__HOST_DEFINES_H__",
    ]
    match = _ARCH.match(arch)
    if match:
        number, kind = match[1], match[2]
        macros += [f"__CUDA_ARCH__={number}0", f"__CUDA_ARCH_LIST__={number}0"]
        if kind == "a":
            macros += [f"__CUDA_ARCH_FEAT_SM{number}_ALL", f"__CUDA_ARCH_SPECIFIC__={number}0"]
        if kind:
            macros.append(f"__CUDA_ARCH_FAMILY_SPECIFIC__={number}0")
    return [f"-D{macro}" for macro in macros]


def _check(request: Request, command: Sequence[str], errors: str, libraries: Sequence[str]) -> None:
    """Raise the errors of a preprocessor, but for those that libraries make of our macros."""
    found = [
        match
        for match in _ERROR.finditer(errors)
        if match["fatal"] or not match["file"].startswith(tuple(libraries))
    ]
    if not found:
        return
    missing = _MISSING.search(errors)
    if missing and TORCH_HEADER.match(missing["header"]):
        owner = "pybind11" if missing["header"].startswith("pybind11") else "torch"
        raise ValueError(
            f"{errors.splitlines()[0].partition(': fatal')[0]}: <{missing['header']}> is a header "
            f"of {owner}'s\n{TORCH_REMEDY}"
        )
    hint = ""
    if missing:
        from ..cuda.libraries import find_cuda
        from ..cuda.log import wheel_hint

        hint = wheel_hint(missing["header"], find_cuda()) or (
            f"{missing['header']} was found in no include folder; name its folder in "
            "extra_include_paths"
        )
    lines = [f"{request.name}: the preprocessor fails:", shortened(errors.rstrip())]
    lines += [f"Hint: {hint}"] if hint else []
    raise BuildError("\n".join(lines), command=" ".join(command), output=errors, directory="")
