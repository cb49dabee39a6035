"""How nvcc compiles a unit, device and host part, and links the device code of several."""

from __future__ import annotations

from collections.abc import Sequence

from .arch import resolve_archs
from .nvcc_flags import host_compiler, is_separate, names_archs, own_flags
from .plan import Cxx, DeviceLink
from .sources import HostFile
from .toolset import Toolset

__all__ = ["device_link", "file_unit", "include_flags", "runtime", "text_unit"]


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
    words = ("-x", "cu", *include_flags(tools), *_flags(tools, archs, flags))
    return Cxx(name, _command(tools), words, tuple(include_paths))


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
    words = ("-x", "cu", *include_flags(tools), *_flags(tools, archs, flags), *further)
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
    words = _flags(tools, archs, flags)
    return DeviceLink("device_link", _command(tools), words, tuple(objects))


def include_flags(tools: Toolset) -> tuple[str, ...]:
    """Return the header folders of host code beside nvcc's own: tvm-ffi's, and this package's."""
    return ("-I", str(tools.include), "-isystem", str(tools.tvm_ffi.include))


def runtime(tools: Toolset, flags: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the libraries and the linker's flags that what nvcc compiles is linked with.

    The runtime library is the static one, as nvcc itself links it: no folder of this machine is in
    the shared object, and no other version in the process gets in its way.
    """
    nvcc = tools.nvcc
    assert nvcc is not None
    libraries = (nvcc.runtime,) if nvcc.runtime else ()
    words = ["-ldl", "-lpthread", "-lrt"]
    if nvcc.libraries:
        words = [f"-L{nvcc.libraries}", *(["-lcudadevrt"] if is_separate(flags) else []), *words]
    return libraries, tuple(words)


def _command(tools: Toolset) -> tuple[str, ...]:
    assert tools.nvcc is not None
    return (tools.nvcc.path,)


def _flags(tools: Toolset, archs: Sequence[str], flags: Sequence[str]) -> tuple[str, ...]:
    if not archs and not names_archs(flags):
        archs = resolve_archs()
    return (*_host(tools, flags), *own_flags(flags, archs), *flags)


def _host(tools: Toolset, flags: Sequence[str]) -> tuple[str, ...]:
    """Return the flags for nvcc's host compiler: the one of the build, where no other is named."""
    if host_compiler(flags) is not None:
        return ()
    compiler = tools.compiler
    # A launcher such as ccache cannot be named with what it starts.
    options = (option.replace(",", "\\,") for option in compiler.options)
    return ("-ccbin", compiler.programs[-1], *(f"-Xcompiler={option}" for option in options))
