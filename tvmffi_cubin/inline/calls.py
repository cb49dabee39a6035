"""`load_inline` and `build_inline`: from source text to a loaded module, by way of the cache."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .delivery import built, loaded
from .options import TextOptions, Texts, check, spelled_out
from .pipeline import find_place
from .request import make_request

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..module import Module

__all__ = ["build_inline", "load_inline"]


@spelled_out(TextOptions)
def load_inline(
    name: str,
    cuda_sources: Texts = None,
    *,
    keep_module_alive: bool = True,
    **options: Unpack[TextOptions],
) -> Module:
    """Compile CUDA or C++ source text and load it as a module of typed functions.

    Parameters
    ----------
    name : str
        Name of the module; the shared object is ``<name>.so``.
    cuda_sources : str or sequence of str, optional
        CUDA sources. Those that define kernels, or device functions alone, are compiled by NVRTC,
        each as a unit of its own, and linked to one image; others are C++ for the host compiler (a
        wrapper of your own around ``EMBED_CUBIN``). What has includes, macros, types and inline
        functions alone is a header for those after it.
    cpp_sources : str or sequence of str, optional
        C++ sources for the host compiler.
    kernel_sources : str or sequence of str, optional
        Sources for NVRTC, whatever they look like.
    functions : mapping, sequence of str or str, optional
        What to export. A name alone is a kernel, launched as ``mod.k[grid, block](...)``, or a
        C++ function of the sources; in a mapping a str is its docstring, a `Launch` or a list of
        them says how a kernel is launched, a `Dispatch` several ways of which the first that fits
        is taken. Default: all kernels of the sources, or of the images where there are no sources.
    embed_cubin : bytes, Cubin, path, or mapping of str to those, optional
        Images to embed (cubins, fatbins, PTX), by the name that ``EMBED_CUBIN`` and
        ``TVM_FFI_EMBED_CUBIN`` take; one without a name has its file's, else the module's. That of
        the kernels compiled here is called ``kernels``.
    device_libraries : sequence of path, bytes or Cubin, optional
        What is linked into the image: relocatable cubins, LTO-IR, PTX, fatbins, static libraries
        and host objects with device code; ``"cudadevrt"`` for kernels that launch kernels.
    lto : bool, optional
        Optimise the device code across units. A library of LTO-IR turns it on.
    ptx : str, optional
        What becomes of images that are PTX: ``"assemble"``, the default, to cubins for `arch` when
        the module is built, so that what is wrong with it is found then; ``"keep"``, embedded as
        text that the driver compiles for each device.
    bound_params : sequence of str or Bound, optional
        The last parameters of every kernel, in order, that `Module.bind` sets and no caller
        passes, C++ functions of the sources included: names, or declarations such as ``"unsigned
        long long* counters"`` where the kernels do not tell a type.
    arch : str or sequence of str, optional
        Architecture such as ``"sm_90a"``, or ``"compute_90"`` for PTX that devices of that and of
        newer architectures compile. Several make one fatbin, of which each device takes the image
        that fits it best. Default: what ``TVMFFI_CUBIN_ARCH`` names, else the current device's.
    name_expressions : sequence of str, optional
        Template instances to compile beside those that `functions` names.
    extra_cflags, extra_ldflags : sequence of str, optional
        Flags for the host compiler and the linker. Relative paths of header and library folders,
        headers, objects and libraries start at the current folder; others have to be absolute.
    extra_cuda_cflags : sequence of str, optional
        Options for NVRTC, or nvcc.
    extra_include_paths : sequence of path, optional
        Header folders for both compilers.
    build_directory : path, optional
        Where to put a copy of the shared object. Loading never uses the copy.
    use_pch : bool, optional
        False: make and use no precompiled headers. Default: as ``TVMFFI_CUBIN_PCH`` says.
    verbose : bool, optional
        Print the commands of a build to stderr as they run, with what they print.
    compiler : str, optional
        What compiles CUDA sources: ``"nvrtc"``, the default, with the host compiler; or ``"nvcc"``,
        which has to be installed and compiles all of them, host functions too, as one unit.
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
        A device source does not compile, or several do not link.
    BuildError
        A host source does not compile or link.
    ToolchainError
        NVRTC, ninja, headers or a compiler are missing, or there is no GPU and no `arch`.
    TypeError, ValueError
        An argument is wrong; the message names it and the remedy.
    """
    rest = check("load_inline", options, TextOptions)
    place = find_place(None, options.get("build_directory"))
    request = make_request(name, cuda_sources=cuda_sources, **rest)
    return loaded(request, options.get("arch"), place, keep_module_alive=keep_module_alive)


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
        As in `load_inline`.
    output : path, optional
        The file to make, from the current folder on, or from `build_directory` where that is given.
        With the suffix ``.o`` or ``.obj`` it is an object, which is yet to be linked: with
        tvm-ffi's library, and with CUDA's where a wrapper calls them. Default: ``<name>.so``.

    Returns
    -------
    str
        Path of the shared object or object: that of the copy where an `output` or a
        `build_directory` is given, else its place in the cache, where it never changes.

    Raises
    ------
    CompileError, BuildError, ToolchainError, TypeError, ValueError
        As in `load_inline`.
    OSError
        `output` cannot be written there.
    """
    rest = check("build_inline", options, TextOptions)
    place = find_place(output, options.get("build_directory"))
    called = None if place is None else place.name
    request = make_request(name, cuda_sources=cuda_sources, output=called, **rest)
    return built(request, options.get("arch"), place)
