"""`expand`: the mixed sources of one unit, preprocessed for the host or for a device."""

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
"""The header that precedes every unit's host text."""

_MACROS = "macros.h"
_UNIT = "unit.cu"

# Device libraries' headers that the host compiler does not need.
_DEVICE_ONLY = re.compile(
    r"(?:cub/|cooperative_groups|mma\.h|crt/|cuda_pipeline|cuda_awbarrier|sm_\d+_|device_atomic"
    r"|cuda/pipeline|cuda/barrier|cuda/ptx)"
)
# CUDA headers that NVRTC does not need.
_HOST_ONLY = re.compile(
    r"(?:nvtx|nvToolsExt|npp|nccl|cuda_profiler|cuda[A-Z]|cuda_\w+_interop|cuda_runtime|cuda\.h"
    r"|thrust/(?:device|host)_vector|nvrtc|nvJitLink|cudnn|nvml)"
)


def mixed_prefix(exports: Sequence[tuple[str, str]]) -> str:
    """Return the headers that begin every mixed unit that uses tvm-ffi."""
    return host_unit.prefix(exports, "tvmffi_cubin/mixed/exports.h", HOST)


def expand(wanted: Build, sources: Sequence[Source], arch: str) -> tuple[str, list[str]]:
    """Run the host compiler's preprocessor over the sources of a unit, in order.

    `arch` is the architecture for the device side, empty for the host side. Returns the `expansion`
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
    # Neither the unit's own folder nor a toolkit's counts as the user's.
    # As in nvcc, -isystem headers are cut too; /usr/include is not: gcc searches it anyway.
    folders = dict.fromkeys(preprocessor_flags(flags).folders)
    toolkits = [x for x in folders if os.path.isfile(f"{x}/cuda_runtime.h")]
    cuda = tuple(f"{x}/" for x in (*tools.cuda_include_dirs, *toolkits))

    def is_kept(name: str, path: str) -> bool:
        if not arch:
            return _DEVICE_ONLY.match(name) is None
        # Our header may shadow CUDA's, and a header read before has no path.
        is_cuda = path.startswith(cuda) or any(os.path.isfile(f"{x}{name}") for x in cuda)
        is_cuda = is_cuda or re.search(r"/(?:cutlass|cute)/", path) is not None
        return is_cuda and _HOST_ONLY.match(name) is None

    own = {*homes, *folders} - {"/usr/include", *toolkits}
    libraries = (*tools.cuda_include_dirs, *toolkits, tools.tvm_ffi.include, str(tools.include))
    text, read = expansion(output, is_kept, (*libraries, folder), own)
    files = [path for path in read if path not in (f"{folder}/{_UNIT}", str(headers.so))]
    return text, [*Inputs.of(headers, tools.roots).read, *files]


def _headers(wanted: Build, command: Sequence[str]) -> Entry:
    """Cache the macros of the headers that begin all units: they take longer than a unit."""
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
    """Preprocess a text in a folder and return the output."""
    made = f"{folder}/unit.ii"
    command = [*command, f"{folder}/{_UNIT}", "-o", made]
    write_files(Path(folder), {_UNIT: text})
    status, errors = process.run(command, is_long=True)
    if status == 0:
        return Path(made).read_text("utf-8", "surrogateescape")
    told = (f"Hint: {hint}" for hint in (*mistakes(errors), *hints(errors)))
    lines = (f"{request.name}: the preprocessor failed:", shortened(errors.rstrip()), *told)
    raise BuildError("\n".join(lines), command=" ".join(command), output=errors, directory="")


def _macros(arch: str) -> list[str]:
    macros = [
        *("__CUDACC__", "__NVCC__", "__CUDACC_VER_BUILD__=0"),
        "__CUDACC_VER_MAJOR__=(CUDART_VERSION/1000)",
        "__CUDACC_VER_MINOR__=(CUDART_VERSION%1000/10)",
        # Leaves CUDA's qualifiers as words, which both sides read.
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
