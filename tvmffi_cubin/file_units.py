"""The units of host files: each is compiled where it lies, by the compiler of its language."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .host.plan import Cxx
from .host_unit import host_flags
from .sources.sort import HostFile

if TYPE_CHECKING:
    from .inline.tools import Toolset

__all__ = ["file_units", "library_flags"]

# The user's flags are for C and C++; a standard of the one is an error to some compilers of the
# other.
_CXX_STANDARD = re.compile(r"-std=(?:c|gnu)\+\+")
_C_STANDARD = re.compile(r"-std=(?:c|gnu|iso9899:)\d")


def file_units(
    files: Sequence[HostFile],
    tools: Toolset,
    *,
    cflags: Sequence[str],
    cuda_flags: Sequence[str],
    include_paths: Sequence[str],
    by_nvcc: Callable[..., Cxx] | None = None,
) -> tuple[Cxx, ...]:
    """Return how host files are compiled.

    Parameters
    ----------
    files : sequence of HostFile
        In order; files of one name in several folders are no trouble.
    tools : Toolset
        The compilers, and what is on the include path.
    cflags, cuda_flags : sequence of str
        The user's flags, for C and C++ and for CUDA files.
    include_paths : sequence of str
        The user's header folders.
    by_nvcc : callable, optional
        How nvcc compiles a CUDA file to an object of a name; None where the host compiler does.
    """
    units = []
    for index, file in enumerate(files):
        assert file.source.path is not None
        if by_nvcc is not None and file.language == "cuda":
            folders = file.source.further_folders
            units.append(by_nvcc(file.source.path, name=f"file_{index}", folders=folders))
            continue
        compiler = tools.compiler
        if file.language == "c":
            assert tools.c_compiler is not None
            compiler = tools.c_compiler
            flags = _c_flags(tools, cflags)
        elif file.language == "c++":
            own = [flag for flag in cflags if not _C_STANDARD.match(flag)]
            flags = ("-x", "c++", *host_flags(tools, own))
        else:
            # As nvcc does, which calls this header its own.
            flags = ("-x", "c++", *host_flags(tools, cuda_flags), "-include", "cuda_runtime.h")
        further = (word for folder in file.source.further_folders for word in ("-iquote", folder))
        units.append(
            Cxx(
                file.source.path,
                compiler.command,
                (*flags, *further),
                tuple(include_paths),
                name=f"file_{index}",
            )
        )
    return tuple(units)


def _c_flags(tools: Toolset, cflags: Sequence[str]) -> tuple[str, ...]:
    others = (str(tools.tvm_ffi.include), *tools.cuda_include_dirs)
    system = [word for folder in others for word in ("-isystem", folder)]
    if tools.has_own_runtime:
        # CUDA's own headers, as ours are C++; what the wheel lacks of them comes after. The last
        # folder is there because gcc takes it for an error to ask for a next header in the last.
        own = (tools.include / "tvmffi_cubin" / "compat", tools.include)
        system += [word for folder in own for word in ("-idirafter", str(folder))]
    flags = [flag for flag in cflags if not _CXX_STANDARD.match(flag)]
    return ("-x", "c", "-fPIC", "-O2", *system, *flags)


def library_flags(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the linker's flags with which shared libraries are found at run time, by folder."""
    folders = dict.fromkeys(path.rpartition("/")[0] for path in paths)
    return tuple(word for x in folders for word in ("-Xlinker", "-rpath", "-Xlinker", x))
