"""How nvcc compiles a unit, device and host part, and links the device code of several."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .arch import resolve_archs
from .host_unit import own_statics
from .nvcc_flags import compile_flags, host_compiler, is_separate, link_flags, names_archs
from .plan import Cxx, DeviceLink
from .sources import HostFile
from .toolset import Toolset

__all__ = ["device_link", "file_unit", "runtime", "text_unit"]


def text_unit(
    name: str,
    tools: Toolset,
    *,
    archs: Sequence[str],
    flags: Sequence[str],
    include_paths: Sequence[str],
) -> Cxx:
    """Return how a text in the build folder is compiled.

    Parameters
    ----------
    name : str
        Its file.
    tools : Toolset
        Those of the build, with nvcc.
    archs : sequence of str
        The architectures, none where the flags name them.
    flags : sequence of str
        The caller's, from `nvcc_flags.read`.
    include_paths : sequence of str
        The user's header folders.

    Raises
    ------
    ToolchainError
        No architecture is known.
    """
    return Cxx(name, _command(tools), _words(tools, archs, flags), tuple(include_paths))


def file_unit(
    file: HostFile,
    name: str,
    tools: Toolset,
    *,
    archs: Sequence[str],
    flags: Sequence[str],
    include_paths: Sequence[str],
) -> Cxx:
    """Return how a file is compiled where it lies; `name` is its object's.

    Raises
    ------
    ToolchainError
        No architecture is known.
    """
    assert file.source.path is not None
    folders = (folder.replace(",", "\\,") for folder in file.source.further_folders)
    further = (f"-Xcompiler=-iquote,{folder}" for folder in folders)
    words = (*_words(tools, archs, flags), *further)
    return Cxx(file.source.path, _command(tools), words, tuple(include_paths), name=name)


def device_link(
    objects: Sequence[str], tools: Toolset, *, archs: Sequence[str], flags: Sequence[str]
) -> DeviceLink | None:
    """Return how device code that is yet to be linked becomes an object; None where there is none.

    Parameters
    ----------
    objects : sequence of str
        Objects and static libraries that may have some.
    tools, archs, flags
        As in `text_unit`.

    Raises
    ------
    ToolchainError
        No architecture is known.
    """
    if not is_separate(flags):
        return None
    words = (*_host(tools, flags), *link_flags(flags, _named(archs, flags)))
    return DeviceLink("device_link", _command(tools), words, tuple(objects))


def runtime(tools: Toolset, flags: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the libraries and the linker's flags that what nvcc compiles is linked with.

    The runtime library is the static one, as nvcc itself links it: no folder of this machine is in
    the shared object, and no other version in the process gets in its way.
    """
    nvcc = tools.nvcc
    assert nvcc is not None
    libraries = [nvcc.runtime] if nvcc.runtime else []
    of_devices = f"{nvcc.libraries}/libcudadevrt.a"
    if is_separate(flags) and nvcc.libraries and os.path.isfile(of_devices):
        libraries.insert(0, of_devices)
    folder = (f"-L{nvcc.libraries}",) if nvcc.libraries else ()
    return tuple(libraries), (*folder, "-ldl", "-lpthread", "-lrt")


def _command(tools: Toolset) -> tuple[str, ...]:
    assert tools.nvcc is not None
    return (tools.nvcc.path,)


def _words(tools: Toolset, archs: Sequence[str], flags: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a compilation; the headers of packages come last."""
    headers = ("-I", str(tools.include), "-isystem", str(tools.tvm_ffi.include))
    words = compile_flags(flags, _named(archs, flags))
    return ("-x", "cu", *_host(tools, flags), *words, *headers)


def _named(archs: Sequence[str], flags: Sequence[str]) -> Sequence[str]:
    """Return the architectures; raises ToolchainError where none is known."""
    return archs or (() if names_archs(flags) else resolve_archs())


def _host(tools: Toolset, flags: Sequence[str]) -> tuple[str, ...]:
    """Return the flags for nvcc's host compiler: the one of the build, where no other is named."""
    assert tools.nvcc is not None
    if host_compiler(flags) is not None:
        return tuple(f"-Xcompiler={flag}" for flag in own_statics(tools.nvcc.host))
    compiler = tools.compiler
    # A launcher such as ccache cannot be named with what it starts.
    own = own_statics(tools.host.compiler)
    options = (*own, *(option.replace(",", "\\,") for option in compiler.options))
    return ("-ccbin", compiler.programs[-1], *(f"-Xcompiler={option}" for option in options))
