"""`load_inline` and `build_inline`: from source text to a loaded module, by way of the cache."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from . import cache as caches
from . import toolset
from .arch import resolve_arch
from .entry import Entry
from .errors import BuildError, CompileError, ToolchainError
from .key import Key
from .request import Request, make_request

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .launch import Launch
    from .module import Module

__all__ = ["build_inline", "load_inline"]

Sources = Sequence[str] | str | None
Functions = Mapping[str, "str | Launch | Sequence[Launch]"] | Sequence[str] | str | None


def load_inline(
    name: str,
    cuda_sources: Sources = None,
    *,
    cpp_sources: Sources = None,
    kernel_sources: Sources = None,
    functions: Functions = None,
    embed_cubin: Mapping[str, Any] | None = None,
    arch: str | None = None,
    name_expressions: Sequence[str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str | os.PathLike[str]] | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    keep_module_alive: bool = True,
    backend: str | None = None,
) -> Module:
    """Compile CUDA or C++ source text and load it as a module of typed functions.

    Parameters
    ----------
    name : str
        Name of the module; the shared object is ``<name>.so``.
    cuda_sources : str or sequence of str, optional
        CUDA sources. Those that define kernels, or device functions alone, are compiled by NVRTC,
        together; others are C++ for the host compiler (a wrapper of your own around
        ``EMBED_CUBIN``).
    cpp_sources : str or sequence of str, optional
        C++ sources for the host compiler.
    kernel_sources : str or sequence of str, optional
        Sources for NVRTC, whatever they look like.
    functions : mapping, sequence of str or str, optional
        What to export. A name alone is a kernel, launched as ``mod.k[grid, block](...)``, or a
        C++ function of the sources; in a mapping a str is its docstring, a `Launch` or a list of
        them says how a kernel is launched. Default: all kernels, where there is no host code.
    embed_cubin : mapping of str to bytes, Cubin or path, optional
        Images to embed, by the name that ``EMBED_CUBIN`` and ``TVM_FFI_EMBED_CUBIN`` take. The
        image of the kernels compiled here is called ``kernels``.
    arch : str, optional
        Architecture such as ``"sm_90a"``. Default: the current device's.
    name_expressions : sequence of str, optional
        Template instances to compile beside those that `functions` names.
    extra_cflags, extra_ldflags : sequence of str, optional
        Flags for the host compiler and the linker.
    extra_cuda_cflags : sequence of str, optional
        Options for NVRTC.
    extra_include_paths : sequence of path, optional
        Header folders for both compilers.
    build_directory : path, optional
        Where to put a copy of the shared object. Loading never uses the copy.
    keep_module_alive : bool
        Keep the module loaded until the process ends, also where no reference to it is left.
    backend : str, optional
        ``"cuda"``, the only one; here because tvm-ffi's function has it.

    Returns
    -------
    Module
        The functions as attributes and items.

    Raises
    ------
    CompileError
        A device source does not compile.
    BuildError
        A host source does not compile or link.
    ToolchainError
        NVRTC, ninja, headers or the host compiler are missing, or there is no GPU and no `arch`.
    TypeError, ValueError
        An argument is wrong; the message names it and the remedy.
    """
    _check_backend(backend)
    _check_folder(build_directory)
    request = make_request(
        name,
        cpp_sources=cpp_sources,
        cuda_sources=cuda_sources,
        kernel_sources=kernel_sources,
        functions=functions,
        name_expressions=name_expressions,
        extra_cflags=extra_cflags,
        extra_cuda_cflags=extra_cuda_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        embed_cubin=embed_cubin,
    )
    entry = _obtain(request, arch)
    if build_directory is not None:
        _copy_for_people(entry, build_directory)
    from .module import load

    return load(entry.so, keep_module_alive=keep_module_alive)


class BuildOptions(TypedDict, total=False):
    """`load_inline`'s parameters that are about building, for `build_inline`."""

    cpp_sources: Sources
    kernel_sources: Sources
    functions: Functions
    embed_cubin: Mapping[str, Any] | None
    name_expressions: Sequence[str] | None
    extra_cflags: Sequence[str] | None
    extra_cuda_cflags: Sequence[str] | None
    extra_ldflags: Sequence[str] | None
    extra_include_paths: Sequence[str | os.PathLike[str]] | None


def build_inline(
    name: str,
    cuda_sources: Sources = None,
    *,
    arch: str | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    backend: str | None = None,
    **options: Unpack[BuildOptions],
) -> str:
    """Build what `load_inline` would load, without loading it.

    Parameters
    ----------
    name, cuda_sources, arch, build_directory, backend, **options
        As in `load_inline`.

    Returns
    -------
    str
        Path of the shared object: that of the copy where a `build_directory` is given, else its
        place in the cache, where it never changes.

    Raises
    ------
    CompileError, BuildError, ToolchainError, TypeError, ValueError
        As in `load_inline`.
    """
    _check_backend(backend)
    _check_folder(build_directory)
    unknown = set(options) - set(BuildOptions.__annotations__)
    if unknown:
        raise TypeError(f"build_inline got an unexpected argument {min(unknown)!r}")
    request = make_request(name, cuda_sources=cuda_sources, **options)
    entry = _obtain(request, arch)
    if build_directory is None:
        return os.fspath(entry.so)
    return _copy_for_people(entry, build_directory)


def _check_backend(backend: object) -> None:
    if backend not in (None, "cuda"):
        raise ValueError(f"backend={backend!r}: this package builds for CUDA only")


def _check_folder(directory: object) -> None:
    if not isinstance(directory, str | os.PathLike | None):
        raise TypeError(f"build_directory is a str or a path, got {type(directory).__name__}")


def _obtain(request: Request, arch: Any) -> Entry:
    target = _resolve_arch(request, arch)
    tools = toolset.find(needs_cuda=request.needs_cuda)
    cache = caches.default(tools.roots)
    key = _base_key(request, target, tools)
    entry = cache.lookup(key)
    if entry is not None:
        return entry
    # Compilers and generators are imported on a miss only.
    from .assemble import make

    try:
        return cache.obtain(key, lambda folder: make(request, target, tools, cache, folder))
    except (BuildError, CompileError) as error:
        # The message says all; a screen of this package's frames would bury it in a notebook.
        raise error.with_traceback(None) from error.__cause__


def _resolve_arch(request: Request, arch: Any) -> str | None:
    if request.cuda_cflags:
        from .nvrtc_options import arch_option, caller_options

        arch = arch_option(caller_options(request.cuda_cflags), arch)
    if arch is not None:
        return resolve_arch(arch)
    if not request.may_have_kernels:
        return None
    try:
        return resolve_arch()
    except ToolchainError:
        # Whether an architecture is needed at all is only known once the sources are parsed, which
        # a cache hit does not do; whoever compiles asks again and then passes the error on.
        return None


def _base_key(request: Request, arch: str | None, tools: toolset.Toolset) -> str:
    from . import __version__

    key = Key("inline module")
    key.add("package", __version__)
    key.add("tools", tools.versions)
    key.add("arch", arch)
    request.add_to(key)
    return key.hexdigest()


def _copy_for_people(entry: Entry, directory: str | os.PathLike[str]) -> str:
    from pathlib import Path

    from .atomic import copy_atomically

    copy = Path(os.path.abspath(directory), entry.so.name)
    copy_atomically(entry.so, copy)
    return os.fspath(copy)
