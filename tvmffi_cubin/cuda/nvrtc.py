"""Compiles CUDA source to a device image with NVRTC, without a toolkit or a GPU."""

from __future__ import annotations

import ctypes
import functools
import logging
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from .. import config
from ..errors import CompileError, bare
from ..host.tools import include_dir
from ..kernels.cubin import KINDS, Cubin
from . import program
from .arch import Archs, is_ptx, number_of, resolve_arch, resolve_archs
from .libraries import find_cuda, library
from .options import items, nvrtc_options
from .precompiled import compile_with
from .program import Nvrtc, Program

__all__ = ["compile", "nvrtc_compile", "resolve_arch", "resolve_archs", "shim_dir", "version"]

# NVRTC searches the folder of the source's name for quoted headers, and the current folder must not
# change what a source means. -no-source-include would also keep headers from finding each other.
_NOWHERE = "/dev/null/kernel.cu"
# What -minimal omits, a sixth of a small kernel's compile time. A header may need any of it.
_NOT_MINIMAL = r"<<\s*<|\b(?:include|cuda|CU|tex|surf|minimal)"
# C++ headers that CCCL's stand in for, and the names in CCCL's that device code may use. CCCL's are
# slow to compile.
BY_CCCL = {
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_one countl_zero countr_one countr_zero "
    "has_single_bit popcount rotl rotr",
    "complex": "complex",
    "concepts": "constructible_from convertible_to derived_from floating_point integral invocable "
    "same_as signed_integral unsigned_integral",
    "functional": "bit_and bit_or bit_xor divides equal_to greater greater_equal identity less "
    "less_equal logical_and logical_not logical_or minus modulus multiplies negate not_equal_to "
    "plus reference_wrapper",
    "iterator": "advance begin cbegin cend crbegin crend data distance empty end "
    "make_reverse_iterator next prev rbegin rend reverse_iterator size ssize",
    "mdspan": "dextents extents layout_left layout_right mdspan",
    "memory": "",
    "numeric": "gcd lcm midpoint",
    "optional": "make_optional nullopt nullopt_t optional",
    "span": "dynamic_extent span",
    "variant": "get_if holds_alternative monostate variant variant_alternative_t variant_size_v "
    "visit",
}
_NOTHING = (
    *("cassert", "cstring", "ctime", "cuda_runtime.h", "cuda_runtime_api.h", "initializer_list"),
    *("crt/host_defines.h", "host_defines.h", "new", "stdbool.h"),
)
_OF_CUDA = ("cuda_awbarrier_helpers.h", "cuda_pipeline_helpers.h")  # with the prelude's integers
_INTEGERS = "#include <tvmffi_cubin_cuda_integers.h>\n"
_OF_C = ("float", "inttypes", "limits", "stdint", "stdio", "stdlib")
_OF_CCCL = "#include <cuda/std/{}>\nnamespace std {{\nusing namespace ::cuda::std;\n}}\n"
HEADERS = {
    **dict.fromkeys(_NOTHING, ""),
    **{f"c{name}": f"#include <{name}.h>\n" for name in _OF_C},
    **{name: f"{_INTEGERS}#include <./{name}>\n{_INTEGERS}" for name in _OF_CUDA},
    **{name: _OF_CCCL.format(name) for name in BY_CCCL},
    # In addition to the overloads for our own types.
    "variant": _OF_CCCL.format("variant") + "namespace std {\nusing ::cuda::std::get;\n}\n",
}
"""Headers whose content NVRTC, our prelude or a file has. NVRTC prefers them to any file, even one
next to the including file, so none has a name that others use for their files."""
_KIND_OPTIONS = {"relocatable": ["--relocatable-device-code=true"], "ltoir": ["-dlto"]}


@bare
def compile(  # noqa: A001
    source: str,
    *,
    name: str = "kernel.cu",
    arch: Archs = None,
    options: Sequence[str] = (),
    name_expressions: Sequence[str] = (),
    include_paths: Sequence[str | os.PathLike[str]] = (),
    source_include: bool = False,
    target_type: str = "cubin",
    use_pch: bool | None = None,
) -> Cubin:
    """Compile CUDA C++ source to an image.

    CUDA's headers (``cuda_fp16.h``, ``cooperative_groups.h``, ``cuda/std/...``, ``cub/...``),
    fixed-width integers and the intrinsics of programmatic dependent launch are available.
    Functions without an execution space specifier are device functions. Threads may compile
    concurrently, and Ctrl-C interrupts a compilation.

    Parameters
    ----------
    source, name : str
        The source, and its name in diagnostics.
    arch : str or sequence of str, optional
        Such as ``"sm_90a"``, or ``"compute_90"`` for PTX; see `resolve_archs`. Several produce one
        fatbin.
    options : sequence of str
        Options for NVRTC. nvcc options that have no effect here (``-O3``,
        ``--expt-relaxed-constexpr``, ``-Xcompiler ...``) are ignored.
    name_expressions : sequence of str
        Kernel names, such as ``"scale<float, 4>"``: each is instantiated, and its symbol is in
        `Cubin.lowered_names`.
    include_paths : sequence of path
        Folders to search for headers, before CUDA's own.
    source_include : bool
        Whether to also search the folder of `name` for headers, or the current folder if `name` has
        none.
    target_type : str
        ``"cubin"``; ``"relocatable"`` or ``"ltoir"``, to link later, the latter with LTO;
        ``"ptx"``, text that the driver compiles. Several architectures require ``"cubin"``.
    use_pch : bool, optional
        False: create and use no precompiled headers. Default: ``TVMFFI_CUBIN_PCH``.

    Returns
    -------
    Cubin
        The image; its ``log`` holds the warnings, which also go to the logger ``tvmffi_cubin``.

    Raises
    ------
    CompileError
        The source does not compile.
    ToolchainError
        NVRTC is missing or does not know the architecture, or there is neither a GPU nor `arch`.
    TypeError, ValueError
        An argument has the wrong type or value, or NVRTC does not know an option.
    """
    if not isinstance(source, str):
        raise TypeError(f"source must be a str, got {type(source).__name__}")
    if target_type not in KINDS:
        raise ValueError(f"unknown {target_type=}; available: {', '.join(map(repr, KINDS))}")
    options = items("options", options)
    folders = map(os.fspath, items("include_paths", include_paths))
    names = items("name_expressions", name_expressions)
    cuda, nvrtc = find_cuda(), program.prepare().result()
    archs = resolve_archs(arch, options)
    if target_type == "ptx":
        archs = tuple(dict.fromkeys(f"compute_{number_of(x)}" for x in archs))
    if target_type != "cubin" and (len(archs) != 1 or is_ptx(archs[0]) != (target_type == "ptx")):
        raise ValueError(f"target_type={target_type!r} requires one architecture such as sm_90a")
    file = name if source_include else _NOWHERE
    # A file name need not be UTF-8, but the name in #line must be.
    text = source if source_include else line_directive(name) + source
    shared = Program(file, text, options, target_type, names, HEADERS)
    of_cuda = tuple(map(str, cuda.include_dirs))
    words = tuple(_options(nvrtc, shared, (*folders, *of_cuda)))
    packages = (include_dir(), *cuda.include_dirs) if config.wants_pch(use_pch) else ()

    def image(arch: str) -> Cubin:
        """Compile for one architecture; ``"compute_90"`` and the like produce PTX."""
        nvrtc.check_known(arch)
        kind = "ptx" if is_ptx(arch) else target_type
        # PTX is also assembled, so that errors show up now and not on a newer device.
        target = f"sm_{number_of(arch)}" if is_ptx(arch) else arch
        command = (f"-arch={target}", *_KIND_OPTIONS.get(kind, ()), *words)
        one = shared._replace(options=command, kind=kind)
        done = program.called(lambda: compile_with(nvrtc, one, packages))
        log = done.log.replace(_NOWHERE, name)
        if not done.image:
            from .hints import explained

            message = f"{name} does not compile for {arch}:\n{explained(log)}"
            raise CompileError(message, log=log, source=source, options=command)
        if log:
            own = (line for line in log.splitlines() if not line.startswith(of_cuda))
            level = logging.WARNING if any(": warning" in line for line in own) else logging.INFO
            logging.getLogger("tvmffi_cubin").log(level, "NVRTC on %s for %s:\n%s", name, arch, log)
        return Cubin(done.image, arch, done.lowered_names, log, kind, nvrtc.release)

    images = program.in_parallel(image, archs)
    return images[0] if len(images) == 1 else join(images)


@bare
def nvrtc_compile(
    source: str,
    *,
    name: str = "kernel.cu",
    arch: Archs = None,
    extra_opts: Sequence[str | bytes] | None = None,
) -> bytes:
    """Compile CUDA C++ source to the bytes of an image, as tvm-ffi's function of this name does.

    Takes the arguments and raises the errors of `compile`; `extra_opts` are its `options`. The
    folder of `name` is also searched for headers.
    """
    options = [os.fsdecode(option) for option in items("extra_opts", extra_opts or ())]
    return compile(source, name=name, arch=arch, options=options, source_include=True).image


def join(cubins: Sequence[Cubin]) -> Cubin:
    """Combine cubins and PTX, each for its own architecture, into a fatbin with nvFatbin."""
    nvfatbin = library("nvFatbin", find_cuda().require("nvfatbin"))
    handle = ctypes.c_void_p()
    # Compressed images cannot be inspected everywhere, and decompression would slow down loading.
    options = (ctypes.c_char_p * 1)(b"-compress=false")
    nvfatbin.call("Create", ctypes.byref(handle), options, ctypes.c_size_t(1))
    for cubin in cubins:
        name, number = cubin.arch.encode(), cubin.arch.partition("_")[2].encode()
        if cubin.kind == "ptx":
            text = cubin.image.rstrip(b"\0") + b"\0"
            nvfatbin.call("AddPTX", handle, text, ctypes.c_size_t(len(text)), number, name, b"")
        else:
            length = ctypes.c_size_t(len(cubin.image))
            nvfatbin.call("AddCubin", handle, cubin.image, length, number, name)
    image = nvfatbin.read("Get", handle, size="Size")
    nvfatbin.call("Destroy", ctypes.byref(handle))
    archs = ", ".join(cubin.arch for cubin in cubins)
    names = {name: symbol for cubin in cubins for name, symbol in cubin.lowered_names.items()}
    log = "\n".join(dict.fromkeys(cubin.log for cubin in cubins if cubin.log))
    return Cubin(image, archs, names, log, "fatbin", cubins[0].cuda_version)


def version() -> tuple[int, int]:
    """Return the version of the NVRTC in use, such as ``(12, 9)``; loads it."""
    return program.prepare().result().version()


def shim_dir() -> Path:
    """Return the folder of the headers that stand in for those that NVRTC lacks."""
    return include_dir() / "tvmffi_cubin" / "nvrtc"


def line_directive(name: str) -> str:
    """Return the #line directive that attributes the lines after it to a source."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'#line 1 "{escaped}"\n'


def _options(nvrtc: Nvrtc, source: Program, folders: Sequence[str]) -> Iterator[str]:
    """Yield all options except the architecture's, for a source with the caller's options."""
    given, names = nvrtc_options(source.options), source.name_expressions
    everything = "\n".join((source.name, source.text, *given, *names))
    if nvrtc.version() >= (12, 9):
        # NVRTC derives hidden kernels' names from a seed, else from the time and the process.
        # Before 12.9, a precompiled header works with only one seed.
        yield f"-frandom-seed={zlib.crc32(everything.encode('utf-8', 'surrogateescape')):08x}"
        # A single kernel would wait for a thread and gain nothing.
        if source.text.count("__global__") > 1 or len(names) > 2:
            yield program.SIDE_BY_SIDE
    if not any(x.startswith("-std=") for x in given):
        yield "-std=c++17"
    shims = shim_dir()
    yield from ("-default-device", f"-I{shims}", f"--pre-include={shims}/tvmffi_cubin_prelude.h")
    # Type lists of up to this length take two thirds of cuda/std's compile time. The default is 16
    # for NVRTC and 10 for nvcc; the value does not change what they mean.
    yield "-D_CCCL_META_UNROLL_LIMIT=10"
    yield from (x for x in given if not x.startswith("-isystem="))
    yield from (f"-I{folder}" for folder in folders)
    # After CUDA's own, as with nvcc: not a way to use another toolkit's headers.
    yield from (x.replace("-isystem=", "-I", 1) for x in given if x.startswith("-isystem="))
    if _cmath_words().isdisjoint(re.findall(r"\w+", everything)):
        yield "-DTVMFFI_CUBIN_NO_CMATH"
    if not re.search(_NOT_MINIMAL, everything):
        yield "-minimal"


@functools.cache
def _cmath_words() -> frozenset[str]:
    """Return words that may need <cmath>, which takes a tenth of a small kernel's compile time."""
    header = (shim_dir() / "cmath").read_text(encoding="utf-8")
    names = re.findall(r"TVMFFI_CUBIN_MATH\((\w+)", header)
    return frozenset((*names, "fma", "std", "include"))
