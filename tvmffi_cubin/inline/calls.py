"""`load_inline`, `load` and their siblings: from sources to a module, through the cache."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .. import config, importing
from ..cache import store
from ..cache.entry import Entry, Key
from .options import FileOptions, TextOptions, Texts, make_request, spelled_out
from .request import Request
from .tools import TOOLS, Build, find_tools, module_key

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..module import Module

_logger = logging.getLogger("tvmffi_cubin")


@spelled_out(TextOptions)
def load_inline(
    name: str,
    cuda_sources: Texts = None,
    *,
    torch_library: str | None = None,
    keep_module_alive: bool = True,
    **options: Unpack[TextOptions],
) -> Module:
    """Compile CUDA or C++ source text and load it as a module of typed functions.

    Parameters
    ----------
    name : str
        Name of the module; the shared object is ``<name>.so``.
    cuda_sources : str or sequence of str, optional
        CUDA sources. NVRTC compiles those that define kernels, or only device functions, each as a
        separate unit, and they are linked into one image; others are C++ for the host compiler,
        such as your own wrapper around ``EMBED_CUBIN``. A source with only includes, macros, types
        and inline functions is a header for those after it.
    cpp_sources : str or sequence of str, optional
        C++ sources for the host compiler.
    kernel_sources : str or sequence of str, optional
        Sources that always go to NVRTC, whatever they contain.
    functions : mapping, sequence of str or str, optional
        Functions to export. A bare name is a kernel, launched as ``mod.k[grid, block](...)``, or a
        C++ function of the sources. In a mapping, a str is a docstring, a `Launch` or a list of
        them says how to launch a kernel, and a `Dispatch` lists alternatives, of which the first
        that fits is used. Default: all kernels of the sources or, without sources, of the images.
    embed_cubin : bytes, Cubin, path, or mapping of str to those, optional
        Images to embed (cubins, fatbins, PTX), keyed by the name that ``EMBED_CUBIN`` and
        ``TVM_FFI_EMBED_CUBIN`` take. A single image is named after its file, else after the module.
        ``kernels`` names the image of the kernels compiled here.
    device_libraries : sequence of path, bytes or Cubin, optional
        Device code to link into the image: relocatable cubins, LTO-IR, PTX, fatbins, static
        libraries, host objects with device code; ``"cudadevrt"`` for kernels that launch kernels.
    lto : bool, optional
        Optimize device code across units at link time. A library of LTO-IR turns it on.
    ptx : str, optional
        How to embed PTX images: ``"assemble"``, the default, makes cubins for `arch` at build
        time, so that errors show up then; ``"keep"`` embeds the text, which the driver compiles for
        each device.
    bound_params : sequence of str, optional
        The last parameters of every kernel, in order, which `Module.bind` sets. No caller passes
        them, not even C++ functions of the sources. Give names or, if the kernels do not reveal the
        types, declarations such as ``"unsigned long long* counters"``.
    arch : str or sequence of str, optional
        Target architecture, such as ``"sm_90a"``, or ``"compute_90"`` for PTX that the driver
        compiles for this and newer devices. Several go into one fatbin, from which each device
        loads the best match. Default: ``TVMFFI_CUBIN_ARCH``, else the current device's.
    name_expressions : sequence of str, optional
        Template instances to compile in addition to those in `functions`.
    extra_cflags, extra_ldflags : sequence of str, optional
        Flags for the host compiler and the linker. Relative paths of header and library folders,
        headers, objects and libraries start at the current folder; other paths, and those in an
        ``@file``, must be absolute. The cache tracks the content of files in `extra_ldflags`.
    extra_cuda_cflags : sequence of str, optional
        Options for NVRTC or nvcc.
    extra_include_paths : sequence of path, optional
        Include folders for both compilers.
    build_directory : path, optional
        Folder for a copy of the shared object. Loading never uses the copy.
    use_pch : bool, optional
        If False, create and use no precompiled headers. Default: ``TVMFFI_CUBIN_PCH``.
    verbose : bool, optional
        Print build commands and their output to stderr as they run.
    compiler : str, optional
        Compiler for CUDA sources: ``"nvrtc"``, the default, with the host compiler; ``"nvcc"``,
        which must be installed and compiles all of them, including host functions, as one unit; or
        ``"auto"``, which uses nvcc only for host functions that do not compile otherwise, with a
        warning that says why.
    torch_library : str, optional
        Namespace in which to register the generated functions as torch operators,
        ``torch.ops.ns.k``, such as for ``torch.compile(fullgraph=True)``. Memory behind pointers to
        const counts as read, all other memory as written. Every launch must have a grid.
    keep_module_alive : bool
        Keep the module loaded until the process ends, even without references to it.
    backend : str, optional
        ``"cuda"``, for compatibility with tvm-ffi's function.

    Returns
    -------
    Module
        A module with the functions as attributes and items.

    Raises
    ------
    CompileError
        A device source does not compile, or device sources do not link.
    BuildError
        A host source does not compile or link.
    ToolchainError
        NVRTC, ninja, headers or a compiler is missing, or there is neither a GPU nor an `arch`.
    TypeError, ValueError
        An argument is invalid; the message names it and the remedy.
    """
    request = make_request(name, cuda_sources=cuda_sources, **options)
    return _loaded(request, torch_library, keep_module_alive)


@spelled_out(TextOptions)
def build_inline(
    name: str,
    cuda_sources: Texts = None,
    *,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[TextOptions],
) -> str:
    """Build what `load_inline` would load, without loading it.

    Parameters
    ----------
    name, cuda_sources, **options
        As in `load_inline`, which also lists the exceptions.
    output : path, optional
        File to create, relative to `build_directory` if given, else to the current folder. The
        suffix ``.o`` or ``.obj`` makes it an object file, to be linked with tvm-ffi's library, and
        with CUDA's libraries if a wrapper calls them. Default: ``<name>.so``.

    Returns
    -------
    str
        Path of the shared object or object file: that of the copy if `output` or
        `build_directory` is given, else that in the cache, where the file never changes.
    """
    return _built(make_request(name, cuda_sources=cuda_sources, output=output, **options))


@spelled_out(FileOptions)
def load(
    name: str,
    *,
    torch_library: str | None = None,
    keep_module_alive: bool = True,
    **options: Unpack[FileOptions],
) -> Module:
    """Compile source files and load them as a module of typed functions.

    Parameters
    ----------
    name : str
        Name of the module; the shared object is ``<name>.so``.
    sources : path or sequence of path, optional
        Source files, handled by suffix. A ``.cu`` file with kernels, or with only device functions,
        goes to NVRTC, one without device code to the host compiler, and one with kernels and host
        functions, including those in its headers, to both. ``.cpp .cc .cxx`` and ``.c`` files go to
        the C++ and C compilers, each as a separate unit. ``.o .obj .a .so`` are linked.
        ``.cubin .fatbin`` are embedded under the file's name without the suffix, as is ``.ptx``,
        assembled for `arch`. Relative paths start at the current folder.
    cpp_files, cuda_files : path or sequence of path, optional
        Same as `sources`.
    torch_library, keep_module_alive, **options
        As in `load_inline`, as are the return value and the exceptions. `functions` names kernels;
        C++ files export their functions themselves, including those named here, with
        ``TVM_FFI_DLL_EXPORT_TYPED_FUNC(name, function)``. Default: all kernels of the ``.cu``
        files, if there is no host code.
    """
    return _loaded(make_request(name, **options), torch_library, keep_module_alive)


@spelled_out(FileOptions)
def build(
    name: str, *, output: str | os.PathLike[str] | None = None, **options: Unpack[FileOptions]
) -> str:
    """Build what `load` would load, without loading it, as `build_inline` does."""
    return _built(make_request(name, output=output, **options))


def _loaded(request: Request, torch_library: str | None, keep_module_alive: bool) -> Module:
    so = _found(request, is_loaded=True)
    with importing:
        from ..module import load_module
    module = load_module(so, torch_library=torch_library, keep_module_alive=keep_module_alive)
    if request.image_files:
        from .images import set_files

        set_files(module, request.image_files, os.path.dirname(request.target) or None)
    return module


def _built(request: Request) -> str:
    so = _found(request)
    return request.target or so


def _found(request: Request, *, is_loaded: bool = False) -> str:
    """Return a module's path in the cache, after copying it to the target, if any."""
    target = request.target
    for binary in request.files.binaries:
        if os.path.exists(target) and os.path.samefile(target, binary.path):
            raise ValueError(f"output {target} is one of the sources; pass another file")
    find = obtain
    if config.get("TVMFFI_CUBIN_RECORD"):
        with importing:
            from .recording import recorded
        find = recorded
    so = find(request, is_loaded=is_loaded).so
    if target:
        from ..cache.files import copy_atomically

        os.makedirs(os.path.dirname(target), exist_ok=True)
        copy_atomically(so, Path(target))
    return os.fspath(so)


def obtain(request: Request, *, is_loaded: bool = False) -> Entry:
    """Return the entry of a request; build it on a cache miss."""
    found = _look_up(request)
    if isinstance(found, Entry):
        return found
    by_nvcc = None if request.for_nvcc is None else _look_up(request.for_nvcc)
    if isinstance(by_nvcc, Entry):
        return by_nvcc
    # The code that builds is imported only on a miss.
    with importing:
        from .build import build

    return build(found, by_nvcc, is_loaded)


def _look_up(request: Request) -> Entry | Build:
    start = time.perf_counter()
    with importing:  # the code that identifies compilers, the first time
        archs = request.archs
        # PTX that is assembled without an architecture is also embedded as text.
        is_fat = request.needs_arch if len(archs) > 1 else request.assembles and not archs
        tools = find_tools(
            needs_cuda=request.needs_cuda,
            needs_fatbin=is_fat,
            nvcc_flags=request.cuda_cflags if request.is_by_nvcc else None,
        )
    key = module_key(request, archs, tools)
    cache = store.default(lambda: tools.roots)
    found, why = cache.find(key.hexdigest()), ""
    if not isinstance(found, Entry) and (tools.lack or cache.mode == "require"):
        found = _built_elsewhere(request, key, cache)
        why = f"built with other tools: {tools.lack}" if tools.lack else "built with any tools"
    if not isinstance(found, Entry):
        return Build(request, archs, tools, cache, key, found, start)
    seconds = time.perf_counter() - start
    store.note(request.name, found.level, seconds, why, is_hit=True)
    where = f"{found.level}, {why}" if why else found.level
    _logger.debug("%s was in the cache (%s, %.2f ms)", request.name, where, seconds * 1e3)
    return found


def _built_elsewhere(request: Request, key: Key, cache: store.Cache) -> Entry | str:
    """Return what other tools built for the same request, or why there is none."""
    found = cache.find(key.hexdigest(without=TOOLS), may_lack=True)
    if found != store.NOTHING:
        return found
    from ..cache import publish

    others = publish.known(cache.folders, request.name)
    return publish.Built.of(key, TOOLS).explain(others, without=TOOLS)
