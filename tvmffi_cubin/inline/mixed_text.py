"""`expand`: the mixed sources of one unit as the preprocessor of either side leaves them."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..cache.entry import Entry, Product
from ..cuda.hints import hints
from ..cuda.nvrtc import line_directive
from ..cuda.options import preprocessor_flags
from ..errors import BuildError, shortened
from ..host import process
from ..host import units as host_unit
from ..host.build import write_files
from ..host.include_scan import looked_for
from ..host.inputs import Inputs, parse_depfile
from ..sources.expansion import expansion
from ..sources.mistakes import mistakes
from .headers import cuda_flags
from .request import Request, Source
from .tools import Build

HOST = "tvmffi_cubin/mixed/host.h"
"""What every unit's host text is compiled behind."""

_MACROS = "macros.h"
_UNIT = "unit.cu"

# Libraries of device code that the host's compiler has no use for.
_DEVICE_ONLY = re.compile(
    r"(?:cub/|cooperative_groups|mma\.h|crt/|cuda_pipeline|cuda_awbarrier|sm_\d+_|device_atomic"
    r"|cuda/pipeline|cuda/barrier|cuda/ptx)"
)
# And those of CUDA's that NVRTC has no use for.
_HOST_ONLY = re.compile(
    r"(?:nvtx|nvToolsExt|npp|nccl|cuda_profiler|cuda[A-Z]|cuda_\w+_interop|cuda_runtime|cuda\.h"
    r"|thrust/(?:device|host)_vector|nvrtc|nvJitLink|cudnn|nvml)"
)


def mixed_prefix(exports: Sequence[tuple[str, str]]) -> str:
    """Return what all units of mixed sources begin with that name anything of tvm-ffi's."""
    return host_unit.prefix(exports, "tvmffi_cubin/mixed/exports.h", HOST)


def expand(wanted: Build, sources: Sequence[Source], arch: str) -> tuple[str, list[str]]:
    """Run the host compiler's preprocessor over the sources of a unit, in order.

    `arch` is the architecture of the device's side, empty for the host's. Returns the `expansion`,
    and the files that were read.
    """
    request, tools = wanted.request, wanted.tools
    flags = cuda_flags(request)
    homes = dict.fromkeys(source.folder for source in sources if source.folder)
    command = [
        *(*tools.compiler.command, "-E", "-x", "c++"),
        *host_unit.host_flags(tools, flags),
        *(word for folder in request.include_paths for word in ("-I", folder)),
        *(f"-D{macro}" for macro in _macros(arch)),
    ]
    headers = _headers(wanted, command)
    command += ["-dI", "-imacros", os.fspath(headers.so)]
    command += [word for folder in homes for word in ("-iquote", folder)]
    text = "".join(f"{line_directive(source.name)}{source.text}\n" for source in sources)
    with tempfile.TemporaryDirectory() as folder:
        output = _preprocessed(request, command, folder, text)
    # The unit's own folder is none of the user's, nor is a toolkit's.
    # nvcc cuts what -isystem names, too; gcc knows /usr/include before anybody names it.
    folders = dict.fromkeys(preprocessor_flags(flags).folders)
    toolkits = [x for x in folders if os.path.isfile(f"{x}/cuda_runtime.h")]
    cuda = tuple(f"{x}/" for x in (*tools.cuda_include_dirs, *toolkits))

    def is_kept(name: str, path: str) -> bool:
        if not arch:
            return _DEVICE_ONLY.match(name) is None
        # Ours may stand before CUDA's, or it was read before.
        is_cuda = path.startswith(cuda) or any(os.path.isfile(f"{x}{name}") for x in cuda)
        is_cuda = is_cuda or re.search(r"/(?:cutlass|cute)/", path) is not None
        return is_cuda and _HOST_ONLY.match(name) is None

    own = {*homes, *folders} - {"/usr/include", *toolkits}
    libraries = (*tools.cuda_include_dirs, *toolkits, tools.tvm_ffi.include, str(tools.include))
    text, read = expansion(output, is_kept, (*libraries, folder), own)
    files = [path for path in read if path not in (f"{folder}/{_UNIT}", str(headers.so))]
    return text, [*Inputs.of(headers, tools.roots).read, *files]


def _headers(wanted: Build, command: Sequence[str]) -> Entry:
    """Return what the headers define that all units begin with, which takes longer than a unit."""
    request, tools = wanted.request, wanted.tools
    key = host_unit.compilation_key("macros of headers", command, tools)
    key.add("text", mixed_prefix(()))

    def make(folder: Path) -> Product:
        def macros(text: str, *options: str) -> dict[str, None]:
            made = _preprocessed(request, [*command, "-dM", *options], os.fspath(folder), text)
            return dict.fromkeys(made.splitlines())

        depfile = folder / "headers.d"
        predefined = macros("")
        defined = macros(mixed_prefix(()) + "\n", "-MD", "-MF", os.fspath(depfile))
        (folder / _MACROS).write_text("\n".join(x for x in defined if x not in predefined) + "\n")
        read = [x for x in parse_depfile(depfile.read_text()) if not x.startswith(f"{folder}/")]
        read = [x for x in read if x.startswith("/")]
        return tools.product(_MACROS, looked_for(request.include_paths, read))

    return wanted.cache.obtain(key.hexdigest(), make, name="macros of headers")


def _preprocessed(request: Request, command: Sequence[str], folder: str, text: str) -> str:
    """Run a preprocessor over a text, in a folder for it, and return what it writes."""
    made = f"{folder}/unit.ii"
    command = [*command, f"{folder}/{_UNIT}", "-o", made]
    write_files(Path(folder), {_UNIT: text})
    status, errors = process.run(command, is_long=True)
    if status == 0:
        return Path(made).read_text("utf-8", "surrogateescape")
    told = (f"Hint: {hint}" for hint in (*mistakes(errors), *hints(errors)))
    lines = (f"{request.name}: the preprocessor fails:", shortened(errors.rstrip()), *told)
    raise BuildError("\n".join(lines), command=" ".join(command), output=errors, directory="")


def _macros(arch: str) -> list[str]:
    macros = [
        *("__CUDACC__", "__NVCC__", "__CUDACC_VER_BUILD__=0"),
        "__CUDACC_VER_MAJOR__=(CUDART_VERSION/1000)",
        "__CUDACC_VER_MINOR__=(CUDART_VERSION%1000/10)",
        # Its qualifiers stay words, which both sides read.
        "__HOST_DEFINES_H__",
    ]
    if match := re.match(r"(?:sm|compute)_(\d+)([af]?)\Z", arch):
        number, kind = match[1], match[2]
        macros += [f"__CUDA_ARCH__={number}0", f"__CUDA_ARCH_LIST__={number}0"]
        if kind == "a":
            macros += [f"__CUDA_ARCH_FEAT_SM{number}_ALL", f"__CUDA_ARCH_SPECIFIC__={number}0"]
        if kind:
            macros.append(f"__CUDA_ARCH_FAMILY_SPECIFIC__={number}0")
    return macros
